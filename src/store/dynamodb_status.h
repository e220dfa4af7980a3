/*
 * What STATUS shows of the fleet's store.
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_STATUS_H
#define DDBLOCKD_STORE_DYNAMODB_STATUS_H

#include "store/attempts.h"
#include "store/dynamodb_identity.h"
#include "store/store.h"

/* Borrowed until the loop goes on. */
void dynamodb_status_identity(const struct dynamodb_identity *,
    struct store_status *ret);
void dynamodb_status_health(const struct attempts_shared *,
    struct store_status *ret);

#endif
