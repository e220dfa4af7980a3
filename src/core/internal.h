/*
 * What the files of the core ask of each other, by the file that does it.
 * Private to src/core; state.h has the structures.
 */
#ifndef DDBLOCKD_CORE_INTERNAL_H
#define DDBLOCKD_CORE_INTERNAL_H

#include "core/state.h"

#define CONTAINER_OF(pointer, type, member)                                    \
	((type *)((uintptr_t)(pointer)-offsetof(type, member)))

#define CLIENT_SEVERAL "what is kept in a lock is changed by who holds it "   \
	"alone, not as one of several"
#define CLIENT_UNANSWERED "no answer within try_timeout"
#define CLIENT_SHARES "this connection shares the lock; what is kept in it "   \
	"is changed by who holds it exclusively"

/* action.c */
void action_add(struct core *, struct core_action *, enum core_action_type);
void action_notice(struct core *, struct hold *, enum core_notice_kind);
void action_withdraw(struct core *, struct hold *);
void action_fill(struct core *, struct operation *, struct namespace *,
    enum operation_kind, uint64_t deadline_ms);
void action_submit(struct core *, struct core_submit *, struct namespace *,
    enum operation_kind, uint64_t deadline_ms, enum core_about, void *owner);
void action_forget(struct core *);

/* client.c */
int client_request(struct core *, const struct core_request *);
void client_drain(struct core *, uint64_t id);
void client_gone(struct core *, uint64_t id);
void client_cut_off(struct core *, uint64_t id);
void client_stop(struct core *);
struct client *client_find(const struct core *, uint64_t id);
struct hold *client_find_hold(const struct core *, uint64_t id);
const char *client_why_lost(const struct hold *);
bool client_may_change(const struct request *, const struct hold *);
void client_free_if_unused(struct core *, struct client *);
void request_reply(struct core *, struct request *, int code, int cause,
    const char *text);
void request_bury(struct core *, struct request *);
void request_free(struct core *, struct request *);
struct hold *client_hold(struct core *, struct request *, uint64_t id);
void client_heard(struct core *, uint64_t id);

/* release.c */
int client_release(struct core *, struct request *, uint64_t id, bool all);
void client_release_unheard(struct core *, const struct client *, uint64_t id,
    bool all);

/* hold.c */
struct hold *hold_find(const struct core *, uint64_t id);
uint32_t hold_hash(const struct hash_link *);
void hold_lose(struct core *, struct hold *, enum core_loss);
void hold_mark_lost(struct core *, struct hold *, enum core_loss);
void hold_give(struct core *, struct hold *, struct client *);
void hold_desert(struct core *, struct hold *);
void hold_cut_off(struct core *, struct hold *);
void hold_end(struct core *, struct hold *);
struct hold *hold_new(const struct core_request *, struct joint *);
struct joint *hold_joint(const struct hold *);
const char *hold_owner(const struct hold *);
void hold_free(struct core *, struct hold *);

/* terms.c */
int terms_check(const struct namespace *, const struct core_terms *,
    char *ret_text, size_t text_size);
int terms_new(struct core *, const struct namespace *, struct hold *,
    const struct core_terms *);
void terms_free(struct core *, struct hold *);
void terms_begin(struct core *, struct hold *);
void terms_end(struct core *, struct hold *);
void terms_timer(struct core *, struct terms *);
uint64_t terms_until_ms(const struct hold *);
uint64_t terms_own_until_ms(const struct hold *);
uint64_t terms_end_ms(const struct hold *);
bool terms_are_endangered(const struct core *, const struct hold *);
bool terms_are_common(const struct hold *);
void terms_renewed(struct core *, struct hold *, bool all);
void terms_prolong(struct core *, struct hold *);
bool terms_stay(struct core *, struct hold *);
bool terms_are_left(const struct hold *);
bool terms_may_reenter(const struct hold *, const struct core_terms *);
uint32_t terms_leave(struct hold *, bool all);
uint32_t terms_count(const struct hold *);
void terms_check_hold(const struct core *, const struct hold *);

void terms_linger(struct core *, struct hold *, uint64_t least_ms);
void terms_resume(struct core *, struct hold *);

/* linger.c */
int linger_ask(struct core *, struct client *, const struct core_request *);
void linger_free(struct core *, struct linger *);	/* accepts NULL */
bool linger_keeps(const struct hold *);
void linger_begin(struct core *, struct client *, bool cut);
void linger_timer(struct core *, struct linger *);
int linger_resume(struct core *, struct request *, const struct core_request *);
uint32_t linger_count(const struct core *, const struct namespace *);

/* process.c */
bool process_has(const struct hold *);
void process_lose(struct core *, struct hold *);
void process_tell(struct core *, struct hold *);
bool process_keeps(struct core *, struct hold *);
void process_part(struct core *, struct hold *);
void process_part_request(struct core *, struct request *);
void process_ended(struct core *, uint64_t client, uint64_t process);
void process_check_hold(const struct hold *);

/* admit.c */
int admit_acquire(struct core *, struct client *, struct request *,
    const struct core_request *);

/* queue.c */
void queue_join(struct lock *, struct request *);
void queue_part(struct request *);
void queue_leave(struct core *, struct request *);
bool queue_must_wait(const struct core *, const struct request *);
void queue_expire(struct core *, struct request *);
bool queue_would_wait(const struct core *, const struct lock *,
    const struct request *);
void queue_fill_grant(struct core *, struct request *, const struct hold *);
uint32_t queue_ahead(const struct request *);
void queue_timer(struct core *, struct request *);
void queue_review(struct core *, struct lock *);
void queue_fail(struct core *, struct lock *, int code, const char *text);
void queue_drain(struct core *, struct request *);
void queue_overdue(struct core *, struct request *);
void queue_grant(struct core *, struct grant *);

/* reenter.c */
bool reenter_now(struct core *, struct hold *, struct request *);
void reenter_waiting(struct core *, struct hold *);

/* grant.c */
struct grant *grant_new(struct core *, struct lock *, bool fail_closed);
void grant_free(struct grant *);
struct extras *grant_extras(struct grant *);
struct downgrade *grant_downgrade(const struct grant *);
struct ident grant_session_id(const struct grant *);
bool grant_has(const struct grant *, struct ident);
struct grant *grant_find(const struct lock *, struct ident);
void grant_enter(struct core *, struct grant *, enum grant_state,
    struct session *);
void grant_advance(struct core *, struct grant *);
void grant_add_hold(struct grant *, struct hold *);
void grant_drop_hold(struct hold *);
void grant_lose(struct core *, struct grant *, enum core_loss);
void grant_lose_hold(struct core *, struct hold *, enum core_loss);
void grant_leave_gap(struct core *, struct grant *, const struct hold *);
bool grant_is_taken(const struct core *, const struct grant *);
void grant_released(struct core *, struct grant *, int code, int cause,
    const char *text);

void grant_expire(struct core *, struct grant *);
struct session *grant_session(const struct grant *);
bool grant_is_good(const struct core *, const struct grant *);
bool grant_is_usable(const struct grant *);
bool grant_is_common(const struct grant *);
bool grant_fits(const struct core *, const struct grant *,
    const struct request *);
bool grant_can_give(const struct core *, const struct grant *,
    const struct request *);
void grant_check(const struct core *, const struct grant *);

/* tokens.c */
uint16_t grant_tokens(const struct grant *);
bool grant_has_token(const struct grant *);
uint64_t grant_next_token(struct grant *);
void grant_set_tokens(struct grant *, uint64_t last);
void grant_raise_tokens(struct core *, struct grant *, uint64_t last);
const char *grant_token_text(const struct grant *);
bool grant_set_token_text(struct grant *, const char *text);
void grant_adopt(struct core *, struct grant *, const struct lock_record *);

/* closed.c */
void closed_enter(struct core *, struct grant *, enum grant_state);
void closed_say(struct core *, struct namespace *, bool danger);
void closed_leave(struct core *, struct grant *);
bool closed_is_settled(const struct namespace *);

/* downgrade.c */
int downgrade_ask(struct core *, struct request *, const struct core_request *);
void downgrade_free(struct downgrade *);	/* accepts NULL */
void downgrade_end(struct core *, struct grant *, int code, int cause,
    const char *text);
void downgrade_advance(struct core *, struct grant *);
void downgrade_stored(struct core *, struct lock *, struct ident,
    const struct outcome *, uint64_t submitted_ms);

/* lock.c */
struct key lock_key(const struct lock *);
struct lock *lock_find(const struct namespace *, struct key);
struct lock *lock_next(const struct namespace *, const struct lock *);
uint32_t lock_hash(const struct hash_link *);
int lock_new(struct core *, struct namespace *, struct key,
    struct lock **ret);
void lock_free_if_unused(struct core *, struct lock *);
void lock_advance(struct core *, struct lock *);
void lock_gave(struct grant *);
void lock_release(struct core *, struct lock *);
void lock_timer(struct core *, struct lock *);
void lock_check(const struct core *, const struct lock *);
bool lock_takeover_is_near(const struct core *, const struct lock *);
void lock_lose(struct core *, struct lock *, const struct session *,
    enum core_loss);
bool lock_may_add(const struct lock *, const struct request *);
bool lock_may_seek(const struct lock *);
bool lock_must_wait(struct core *, struct lock *);
bool lock_has_other_limit(const struct lock *, const struct request *);
bool lock_is_open(const struct lock *, const struct request *);
bool lock_rid_of_stale_wish(struct core *, struct lock *);
bool lock_run_is_over(const struct core *, const struct lock *);
struct hold *lock_first_hold(const struct lock *);
enum lock_mode lock_wish_mode(const struct lock *);
void lock_hold_off(struct core *, struct lock *, uint64_t period_ms);
void lock_try_later(struct core *, struct lock *);
uint64_t lock_poll_ms(const struct lock *);
void lock_poll(struct core *, struct lock *);

/* record.c */
void record_seen(struct core *, struct lock *, const struct lock_record *,
    uint64_t submitted_ms);
bool record_shows(const struct lock_record *, const struct grant *);
bool record_find_orphan(struct core *, struct lock *,
    const struct lock_record *);
void record_orphan(struct core *, struct lock *, const struct holder *);
void record_forget_sight(struct lock *);
bool record_block(struct core *, struct lock *);
size_t record_dead(const struct lock *, size_t most, struct holder *ret);
enum core_loss record_loss(const struct lock_record *);

/* keep.c */
bool keep_is_owed(const struct grant *);
void keep_seen(struct core *, struct lock *, const struct submission *,
    const struct outcome *);
void keep_forget(struct core *);
enum keep keep_look(struct core *, struct grant *, struct request *);
void keep_advance(struct core *, struct grant *);
void keep_tell(struct core *, struct request *);
int keep_join(struct grant *, struct request *);
void keep_leave(struct request *);
void keep_lose(struct core *, struct grant *);
bool keep_failed(struct core *, struct grant *, uint64_t serial,
    const struct outcome *);

/* submission.c */
bool submission_begin_part(struct core *, struct lock *);
void submission_undo_part(struct core *, struct lock *);
const struct operation *submission_send_part(struct core *, struct lock *,
    const struct request *, uint64_t deadline_ms);
bool submission_send(struct core *, struct lock *, enum operation_kind,
    struct grant *);
void submission_update(struct core *, struct grant *, const struct contents *,
    uint64_t serial);
struct holder submission_me(const struct grant *);
void submission_free(struct core *, struct submission *);
void submission_drop(struct core *, struct lock *);

/* transfer.c */
void transfer_part(struct core *, struct lock *, const struct outcome *);
void transfer_stored(struct core *, struct lock *, const struct outcome *);
void transfer_looked(struct core *, struct lock *, const struct lock_record *,
    uint64_t submitted_ms);

/* namespace.c */
void namespace_trouble(struct namespace *, const struct outcome *);
bool namespace_code_is_definite(int code);
bool namespace_is_settled(const struct namespace *);

/* session.c */
void session_start(struct core *, struct namespace *);
void session_timer(struct core *, struct session *);
void session_open_timer(struct core *, struct namespace *);
void session_stored(struct core *, struct session *, const struct outcome *);
void session_retire(struct core *, struct session *);
void session_unused(struct core *, struct session *);
void session_free(struct core *, struct session *);
void session_check(const struct core *, const struct session *);
struct session *session_find(const struct namespace *, struct ident);
bool session_is_good(const struct core *, const struct session *);
uint64_t session_until_ms(const struct session *);

void session_beat(struct core *, struct session *);
void session_schedule(struct core *, struct session *);
void session_say(struct core *, struct session *, enum core_notice_kind);
void session_say_own(struct core *, struct session *, bool all);
void session_trouble(struct core *, struct session *, const struct outcome *);

/* format.c */
int format_refuse(const struct namespace *, const struct core_request *,
    char *ret_text, size_t text_size);
int format_refuse_change(const struct namespace *, const struct change *,
    char *ret_text, size_t text_size);
bool format_has_record(const struct namespace *, const struct lock_record *);
bool format_is_fail_closed(const struct namespace *,
    const struct core_request *);

/* renew.c */
void renew_ask(struct core *, struct session *, struct request *);
void renew_answer(struct core *, struct session *, int code);

/* refresh.c */
bool refresh_is_per_record(const struct namespace *);
struct session *refresh_new(struct core *, struct lock *, struct ident id);
void refresh_end(struct core *, struct session *);
void refresh_begin(struct core *, struct session *, uint64_t sent_ms,
    const struct lock_record *);
void refresh_timer(struct core *, struct session *);
void refresh_advance(struct core *, struct grant *);
void refresh_sent(struct session *);
void refresh_say(struct core *, struct session *, bool danger);
void refresh_stored(struct core *, struct grant *, const struct outcome *);
void refresh_lose(struct core *, struct session *);

/* observe.c */
struct observation *observe_holder(const struct namespace *, struct key,
    const struct holder *);
struct observation *observe(struct core *, struct namespace *, struct ident,
    uint64_t lease_ms);
void observe_block(struct core *, struct sight *, struct observation *);
void observe_unblock(struct sight *);
void observe_glance(struct core *, struct observation *, bool crowding);
bool observe_ends_before(const struct observation *,
    const struct observation *);
bool observe_knows_end(const struct observation *, uint64_t now_ms,
    uint64_t *ret_ms);
bool observe_is_stale(const struct core *, const struct observation *);
bool observe_is_over(const struct core *, const struct observation *);
struct observation *observe_record(struct core *, const struct lock *,
    const struct lock_record *);
void observe_end(struct core *, const struct lock *);
enum mark_form observe_mark_form(const struct core *,
    const struct observation *, size_t n_marks);
void observe_marked(struct core *, const struct lock *,
    const struct lock_record *, struct ident mark);
struct ident observe_mark(const struct lock *);
bool observe_lives(struct core *, struct observation *);
bool observe_is_near_end(const struct core *, const struct observation *);
void observe_timer(struct core *, struct observation *);
void observe_stored(struct core *, struct observation *,
    const struct outcome *);
void observe_closed(struct core *, struct namespace *, struct ident);
void observe_free(struct core *, struct observation *);

/* joint.c */
int joint_new(struct core *, struct request *, const struct core_request *,
    struct joint **ret);
void joint_free(struct core *, struct joint *);
struct namespace *joint_bridge(const struct namespace *);
uint32_t joint_n_parts(const struct namespace *, uint32_t n_keys);
uint64_t joint_until_ms(const struct joint *);
bool joint_is_endangered(const struct core *, const struct joint *);
struct session *joint_renew(struct core *, const struct joint *);
void joint_free_all(struct core *);
void joint_due(struct core *, struct joint *);
bool joint_is_due(const struct request *);
bool joint_is_asked(const struct request *);
void joint_run(struct core *);
void joint_leave(struct core *, struct joint *);
bool joint_has(const struct part *);
uint32_t joint_first(const struct joint *);
uint32_t joint_n_had(const struct joint *);
bool joint_is_kept(const struct hold *);
void joint_keep(struct core *, struct joint *, struct grant *);
struct lock *joint_obstacle(const struct core *, const struct joint *);
struct hold *joint_speaker(struct hold *);
void joint_lose(struct core *, struct hold *, enum core_loss);
void joint_ended(struct core *, struct hold *);

/* level.c */
bool level_has_tokens(const struct namespace *);
const char *level_token_text(const struct hold *);
uint64_t level_lacks(const struct grant *);
struct lock *level_first(const struct joint *);
void level_due(struct core *, const struct grant *);
void level_stored(struct core *, struct lock *, const struct grant *,
    const struct outcome *);

/* together.c */
bool together_send(struct core *, struct lock *);
void together_stored(struct core *, struct together *, const struct outcome *);

/* doubt.c */
struct doubt *doubt_new(struct core *, struct lock *);
void doubt_drop(struct core *, struct doubt *);
void doubt_add(struct core *, struct doubt *, const struct holder *,
    uint64_t sent_ms);
void doubt_seen(struct core *, struct lock *, const struct lock_record *,
    uint64_t submitted_ms);
bool doubt_is_orphan(const struct lock *, const struct holder *);
void doubt_timer(struct core *, struct doubt *);
void doubt_session_closed(struct core *, struct namespace *, struct ident);
void doubt_free_all(struct core *, struct lock *);

/* batch.c */
bool batch_is_full(const struct batch *);
bool batch_has(const struct batch *, const struct lock *);
void batch_add(struct batch *, struct lock *);
void batch_send(struct core *, struct batch *, struct namespace *,
    enum core_about);
bool batch_is_unwritten(const struct batch *, size_t i);
bool batch_is_news(const struct batch *, size_t i);
uint64_t batch_end(struct core *, struct batch *);

/* audit.c */
void audit_timer(struct core *, struct namespace *);
void audit_stored(struct core *, struct namespace *, const struct outcome *);

/* breaking.c */
int breaking_ask(struct core *, struct request *, const struct core_request *);
void breaking_stored(struct core *, struct request *, const struct outcome *);
void breaking_free(struct breaking *);

/* looks.c */
bool looks_are_vain(const struct lock *);
void looks_schedule(struct core *, struct namespace *);
void looks_leave(struct watched *);
void looks_line_up(struct core *, struct watched *, bool known);
void looks_timer(struct core *, struct namespace *);
void looks_stored(struct core *, struct namespace *, const struct outcome *);

/* watch.c */
struct watch *watch_find(const struct core *, const struct client *,
    const struct lock *);
int watch_ask(struct core *, struct request *, const struct core_request *);
int watch_unask(struct core *, struct request *, const struct core_request *);
void watch_timeout(struct core *, struct request *);
void watch_forget_request(struct watch *);
void watch_end(struct core *, struct watch *);
bool watch_wants_look(const struct lock *);
void watch_touch(struct core *, struct lock *);
void watch_seen(struct lock *, const struct lock_record *,
    uint64_t submitted_ms);
void watch_fail(struct core *, struct lock *, int code);
void watch_failed(struct core *, struct lock *, int code, const char *text);
void watch_tell(struct core *);
void watch_free_all(struct lock *);

/* listing.c */
int listing_ask(struct core *, struct request *, const struct core_request *);
void listing_stored(struct core *, struct request *, const struct outcome *);
void listing_continue(struct core *, struct request *);
void listing_leave(struct core *, struct listing *);
void listing_timer(struct core *, struct namespace *);
void listing_timeout(struct core *, struct request *);
void listing_free(struct listing *);

/* view.c */
void view_lock(const struct core *, const struct lock *, uint64_t now_ms,
    struct core_holder_view *ret);
void view_record(const struct core *, const struct namespace *, struct key,
    const struct lock_record *, uint64_t now_ms, struct core_holder_view *ret);

#endif
