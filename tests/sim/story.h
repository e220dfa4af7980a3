/*
 * Facts from short lines, so that a history for the judge's own tests can be
 * read as a story:
 *
 *     rules [danger=MS] [lateness=MS] [idle=MS] [audit=MS] [holds=N]
 *         [requests=N] [handovers=N] [retention=S] [blind]
 *         [foreign] [tokens] [bridge: from there to ns=1]
 *     TIME A start [rate=PPM]
 *     TIME A die|end|pause|resume|freeze
 *     TIME A session NAME open|beat=N|dead|gone [lease=MS] [sent=TIME]
 *     TIME A lock KEY ELEMENT...|gone|broken token=N [ttl[=S]]
 *         [wishes=N|+SESSION|&SESSION] [shared] [limit=N] [sent=TIME]
 *         [broken-by]
 *     TIME A record KEY HOLD|free|gone [version=N] [token=N] [until=TIME]
 *         [never] [sent=TIME]
 *     TIME A marks KEY MARK [n=N] [sent=TIME]
 *     TIME A renewed until=TIME
 *     TIME c9@P has KEY [token=N]
 *     TIME c9@P left KEY
 *     TIME c1@A acquire KEY rN [shared] [limit=N] [wait=MS] [due=TIME]
 *         [fail-closed] [max-hold=MS] [keepalive=MS] [danger=MS|unwarned]
 *         [manual] [reentrant] [stays] [linger=MS]
 *         [at-least=MS] [every=MS] [at-end] [resumes]
 *         [user=N]
 *         [joint=N: one of several, with rN]
 *         [data=N] [note=N]
 *     TIME c1@A release|renew HOLD rN [due=TIME] [clears]
 *     TIME c1@A downgrade HOLD rN [shared] [limit=N]
 *     TIME c1@A cancel rM rN
 *     TIME c1@A break KEY rN token=N
 *     TIME c1@A raise KEY rN
 *     TIME c2@A resume c1 rN [resumes] [user=N]
 *     TIME c2@A taken HOLD until=TIME|expired|stolen|broken|...
 *     TIME c1@A watch|unwatch KEY rN [due=TIME]
 *     TIME c1@A told rN [code=N] [hold=N] [token=N] [until=TIME|for-ever]
 *         [ends=TIME]
 *     TIME c1@A told rN STATE
 *     TIME c1@A changed KEY STATE
 *     TIME c1@A danger HOLD
 *     TIME c1@A safe HOLD until=TIME
 *     TIME c1@A lost HOLD expired|stolen|broken|shutdown|max_hold|keepalive
 *     TIME c1@A talks|drains|leaves
 *     TIME quiet
 *
 * A STATE is "free", "unknown", or "held|dead token=N [n=N] [shared]", with
 * the number of holders.
 *
 * A writer is a host, "hand", or "ttl"; of a record that older clients share
 * also one of those, from P on. An ELEMENT is SESSION/GRANT, with "!"
 * at its end if it is fail-closed, and "~MS" for another lease. "+" is a waiter
 * mark for exclusive use, "&" one for shared use. "data=N" and "note=N" are the
 * contents of a lock, told or brought, by the request N. A write without a time
 * of sending was sent when it landed. Beyond a bridge each line has "ns=1".
 */
#ifndef DDBLOCKD_TESTS_STORY_H
#define DDBLOCKD_TESTS_STORY_H

#include "judge.h"

/*
 * Judge the lines of @texts, one text after the other up to NULL, and the
 * history's end at @end_ms. Ends the process if a line cannot be read.
 */
struct judge *story_judge(const char *const *texts, uint64_t end_ms);

#endif
