/*
 * Why a hold is lost.
 */
#ifndef DDBLOCKD_CORE_LOSS_H
#define DDBLOCKD_CORE_LOSS_H

enum core_loss {
	CORE_LOSS_EXPIRED = 1,	/* no renewal in time */
	CORE_LOSS_STOLEN,	/* the record no longer shows our grant */
	CORE_LOSS_BROKEN,	/* somebody broke it on purpose */
	CORE_LOSS_SHUTDOWN,	/* the daemon stops and was told to release */
	CORE_LOSS_MAX_HOLD,	/* it was held as long as it may be */
	CORE_LOSS_KEEPALIVE,	/* the client was silent for too long */
	CORE_LOSS_CUT_OFF,	/* the daemon ended the client's connection */
	CORE_LOSS_RELEASED,	/* another client released it (of_process) */
};
#define CORE_LOSSES (CORE_LOSS_RELEASED + 1)

/* The word for it, in the protocol, the history and traces: "expired". */
const char *core_loss_name(enum core_loss);

#endif
