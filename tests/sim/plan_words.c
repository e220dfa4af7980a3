/*
 * The words of plans: every setting, step and fault with its name and its
 * arguments.
 */
#include "plan_text.h"

#include <string.h>

#define P(field) offsetof(struct plan, field)
#define H(field) offsetof(struct plan_host, field)
#define S(member) offsetof(struct plan_step, member)
#define N(field) offsetof(struct plan_namespace, field)
#define O(field) offsetof(struct plan_peer, field)

const struct setting plan_world_settings[] = {
	{ "seed", SETTING_NUMBER, P(seed), false },
	{ "hosts", SETTING_COUNT, P(n_hosts), false },
	{ "namespaces", SETTING_COUNT, P(n_namespaces), false },
	{ "bridge", SETTING_FLAG, P(bridge), false },
	{ "lease", SETTING_DURATION, P(ns.lease_ms), false },
	{ "drift", SETTING_PPM, P(ns.drift_ppm), false },
	{ "heartbeat", SETTING_DURATION, P(ns.heartbeat_ms), true },
	{ "danger", SETTING_DURATION, P(ns.danger_ms), true },
	{ "margin", SETTING_DURATION, P(ns.margin_ms), true },
	{ "request", SETTING_DURATION, P(ns.request_ms), true },
	{ "try", SETTING_DURATION, P(ns.try_ms), true },
	{ "poll", SETTING_DURATION, P(ns.poll_ms), false },
	{ "audit", SETTING_DURATION, P(ns.audit_ms), false },
	{ "handover", SETTING_COUNT, P(ns.handover_max), false },
	{ "line", SETTING_COUNT, P(ns.line_max), false },
	{ "sole-writer", SETTING_FLAG, P(ns.sole_writer), false },
	{ "no-foreign-waiters", SETTING_FLAG, P(ns.no_foreign_waiters),
	    false },
	{ "keeps-idle", SETTING_FLAG, P(ns.keeps_idle), false },
	{ "idle", SETTING_DURATION, P(ns.idle_ms), false },
	{ "hints", SETTING_FLAG, P(ns.hints), false },
	{ "bad-hints", SETTING_FLAG, P(bad_hints), false },
	{ "retention", SETTING_SECONDS, P(retention_s), false },
	{ "latency", SETTING_RANGE, P(latency_ms), false },
	{ "lateness", SETTING_DURATION, P(lateness_ms), false },
	{ "list-capacity", SETTING_COUNT, P(ns.list_capacity), false },
	{ "request-rate", SETTING_COUNT, P(ns.request_rate), false },
	{ "scan-page", SETTING_COUNT, P(scan_page), false },
	{ "hedges", SETTING_FLAG, P(hedges), false },
	{ "no-transactions", SETTING_FLAG, P(no_transactions), false },
	{ .name = NULL },
};

const struct setting plan_limit_settings[] = {
	{ "clients", SETTING_COUNT, P(limits.clients_max), false },
	{ "requests-per-client", SETTING_COUNT,
	    P(limits.requests_per_client_max), false },
	{ "holds-per-client", SETTING_COUNT, P(limits.holds_per_client_max),
	    false },
	{ "watches-per-client", SETTING_COUNT,
	    P(limits.watches_per_client_max), false },
	{ "watches", SETTING_COUNT, P(limits.watches_max), false },
	{ "locks", SETTING_COUNT, P(limits.locks_max), false },
	{ "memory", SETTING_NUMBER, P(limits.memory_max), false },
	{ "requests", SETTING_COUNT, P(limits.requests_max), false },
	{ "observations", SETTING_COUNT, P(limits.observations_max), false },
	{ "doubts", SETTING_COUNT, P(limits.in_doubt_max), false },
	{ .name = NULL },
};

const struct setting plan_host_settings[] = {
	{ "rate", SETTING_RATE, H(rate_ppm), false },
	{ "offset", SETTING_DURATION, H(offset_ms), false },
	{ "wall", SETTING_SHIFT, H(wall_ms), false },
	{ "absent", SETTING_FLAG, H(absent), false },
	{ "phase", SETTING_PHASE, H(phase), false },
	{ .name = NULL },
};

const struct setting plan_format_settings[] = {
	{ "go-lease", SETTING_FLAG, N(go_lease), false },
	{ "keep-released", SETTING_FLAG, N(keep_released), false },
	{ "keep-attributes", SETTING_FLAG, N(keep_attributes), false },
	{ "local-time", SETTING_FLAG, N(local_time), false },
	{ "fencing", SETTING_FLAG, N(fencing), false },
	{ "skew", SETTING_DURATION, N(skew_ms), false },
	{ "lease", SETTING_DURATION, N(lease_ms), false },
	{ .name = NULL },
};

const struct setting plan_peer_settings[] = {
	{ "rate", SETTING_RATE, O(host.rate_ppm), false },
	{ "offset", SETTING_DURATION, O(host.offset_ms), false },
	{ "wall", SETTING_SHIFT, O(host.wall_ms), false },
	{ "retries", SETTING_COUNT, O(retries), false },
	{ "patience", SETTING_DURATION, O(patience_ms), false },
	{ "keep", SETTING_FLAG, O(keep), false },
	{ .name = NULL },
};

const struct setting plan_lock_settings[] = {
	{ "mode", SETTING_MODE, S(shared), false },
	{ "limit", SETTING_COUNT, S(limit), false },
	{ "fail-closed", SETTING_FLAG, S(fail_closed), false },
	{ "wait", SETTING_LONG, S(wait_ms), false },
	{ "hold", SETTING_LONG, S(hold_ms), false },
	{ "renew", SETTING_DURATION, S(renew_ms), false },
	{ "end", SETTING_END, S(end), false },
	{ "max-hold", SETTING_DURATION, S(max_hold_ms), false },
	{ "keepalive", SETTING_DURATION, S(keepalive_ms), false },
	{ "danger", SETTING_LONG, S(danger_ms), false },
	{ "manual", SETTING_FLAG, S(manual), false },
	{ "reentrant", SETTING_FLAG, S(reentrant), false },
	{ "stays", SETTING_FLAG, S(stays), false },
	{ "linger", SETTING_DURATION, S(linger_ms), false },
	{ "at-least", SETTING_DURATION, S(at_least_ms), false },
	{ "every", SETTING_DURATION, S(every_ms), false },
	{ "at-end", SETTING_FLAG, S(at_end), false },
	{ "resumes", SETTING_FLAG, S(resumes), false },
	{ "process", SETTING_DURATION, S(process_ms), false },
	{ "stranger", SETTING_FLAG, S(stranger), false },
	{ "brings", SETTING_FLAG, S(brings), false },
	{ "notes", SETTING_FLAG, S(notes), false },
	{ "leaves", SETTING_FLAG, S(leaves), false },
	{ "clears", SETTING_FLAG, S(clears), false },
	{ "talk", SETTING_DURATION, S(talk_ms), false },
	{ "only-if-exists", SETTING_FLAG, S(only_if_exists), false },
	{ "ns", SETTING_NAMESPACE, S(namespace_index), false },
	{ .name = NULL },
};

const struct setting plan_list_settings[] = {
	{ "page", SETTING_LONG, S(page_ms), false },
	{ "ns", SETTING_NAMESPACE, S(namespace_index), false },
	{ .name = NULL },
};

const struct setting plan_hand_settings[] = {
	{ "mode", SETTING_MODE, S(shared), false },
	{ "of", SETTING_OF, S(of), false },
	{ "lease", SETTING_DURATION, S(lease_ms), false },
	{ "left", SETTING_COUNT, S(count), false },
	{ "token", SETTING_NUMBER, S(token), false },
	{ "ns", SETTING_NAMESPACE, S(namespace_index), false },
	{ .name = NULL },
};

const struct setting plan_expect_settings[] = {
	{ "losses", SETTING_COUNT, offsetof(struct plan_expect, losses),
	    false },
	{ "grants", SETTING_COUNT, offsetof(struct plan_expect, grants),
	    false },
	{ "changes", SETTING_COUNT, offsetof(struct plan_expect, changes),
	    false },
	{ .name = NULL },
};

const struct setting plan_trace_settings[] = {
	{ "from", SETTING_DURATION, P(trace_from_ms), false },
	{ "to", SETTING_LONG, P(trace_to_ms), false },
	{ .name = NULL },
};

const struct setting plan_reload_settings[] = {
	{ "poll", SETTING_DURATION, S(poll_ms), false },
	{ "handover", SETTING_COUNT, S(handover_max), false },
	{ "idle", SETTING_DURATION, S(idle_ms), false },
	{ "audit", SETTING_DURATION, S(audit_ms), false },
	{ "locks", SETTING_COUNT, S(locks_max), false },
	{ "holds", SETTING_COUNT, S(holds_max), false },
	{ .name = NULL },
};

_Static_assert(P(latency_max_ms) == P(latency_ms) + sizeof(uint64_t),
    "the two ends of a range stand in a row");

size_t
plan_setting_size(const struct setting *s)
{
	switch (s->form) {
	case SETTING_FLAG:
	case SETTING_MODE:
		return sizeof(bool);
	case SETTING_END:
		return sizeof(enum plan_end);
	case SETTING_PHASE:
		return sizeof(enum plan_phase);
	case SETTING_PPM:
	case SETTING_RATE:
	case SETTING_COUNT:
	case SETTING_OF:
	case SETTING_NAMESPACE:
		return sizeof(uint32_t);
	case SETTING_RANGE:
		return 2 * sizeof(uint64_t);
	default:
		return sizeof(uint64_t);
	}
}

static const struct step_words plan_steps[STEP_KINDS] = {
	[STEP_LOCK] = { "lock", SUBJECT_CLIENT_AT, .form = FORM_LOCK },
	[STEP_RELEASE] = { "release", SUBJECT_CLIENT, .form = FORM_KEY },
	[STEP_RENEW] = { "renew", SUBJECT_CLIENT, .form = FORM_KEY },
	[STEP_DOWNGRADE] = { "downgrade", SUBJECT_CLIENT, .form = FORM_LOCK },
	[STEP_CANCEL] = { "cancel", SUBJECT_CLIENT, .form = FORM_KEY },
	[STEP_GET] = { "get", SUBJECT_CLIENT_AT, .form = FORM_KEY },
	[STEP_LIST] = { "list", SUBJECT_CLIENT_AT, .form = FORM_LIST },
	[STEP_LIST_HELD] = { "list-held", SUBJECT_CLIENT_AT, .form = FORM_LIST,
	    .scripted = true },
	[STEP_WATCH] = { "watch", SUBJECT_CLIENT_AT, .form = FORM_KEY },
	[STEP_UNWATCH] = { "unwatch", SUBJECT_CLIENT, .form = FORM_KEY },
	[STEP_RESUME] = { "resume", SUBJECT_CLIENT_AT, .form = FORM_LOCK },
	[STEP_DRAIN] = { "drain", SUBJECT_CLIENT, .form = FORM_NOTHING },
	[STEP_CUT_OFF] = { "cut-off", SUBJECT_CLIENT, .form = FORM_NOTHING },
	[STEP_END_PROCESS] = { "end-process", SUBJECT_CLIENT,
	    .form = FORM_NOTHING,
	    .scripted = true },
	[STEP_CLOSE] = { "close", SUBJECT_CLIENT, .form = FORM_NOTHING },
	[STEP_KILL] = { "kill", SUBJECT_HOST, .form = FORM_NOTHING },
	[STEP_BOOT] = { "boot", SUBJECT_HOST, .form = FORM_NOTHING },
	[STEP_RESTART] = { "restart", SUBJECT_HOST, .form = FORM_DURATION },
	[STEP_TEAR] = { "tear", SUBJECT_HOST, .form = FORM_DURATION },
	[STEP_HUSH] = { "hush", SUBJECT_HOST, .form = FORM_DURATION,
	    .scripted = true },
	[STEP_REVIVE] = { "revive", SUBJECT_HOST, .form = FORM_DURATION,
	    .scripted = true },
	[STEP_CRASH] = { "crash", SUBJECT_HOST, .form = FORM_NOTHING },
	[STEP_STOP] = { "stop", SUBJECT_HOST, .form = FORM_NOTHING },
	[STEP_STOP_RELEASE] = { "stop-release", SUBJECT_HOST,
	    .form = FORM_NOTHING },
	[STEP_PAUSE] = { "pause", SUBJECT_HOST, .form = FORM_DURATION },
	[STEP_SUSPEND] = { "suspend", SUBJECT_HOST, .form = FORM_DURATION },
	[STEP_FREEZE] = { "freeze", SUBJECT_HOST, .form = FORM_DURATION },
	[STEP_CUT] = { "cut", SUBJECT_HOST, .form = FORM_DURATION },
	[STEP_DOWN] = { "down", SUBJECT_HOST, .form = FORM_DURATION },
	[STEP_WALL] = { "wall", SUBJECT_HOST, .form = FORM_SHIFT },
	[STEP_STARVE] = { "starve", SUBJECT_HOST, .form = FORM_COUNTS },
	[STEP_MOVE] = { "move", SUBJECT_HOST, .form = FORM_PHASE },
	[STEP_RELOAD] = { "reload", SUBJECT_HOST, .form = FORM_RELOAD },
	[STEP_WITHDRAW] = { "drain", SUBJECT_HOST, .form = FORM_NOTHING },
	[STEP_UNDRAIN] = { "undrain", SUBJECT_HOST, .form = FORM_NOTHING },
	[STEP_HEAR_FREED] = { "hear-freed", SUBJECT_HOST, .form = FORM_KEY,
	    .scripted = true },
	[STEP_HEAR_WANTED] = { "hear-wanted", SUBJECT_HOST,
	    .form = FORM_KEY, .scripted = true },
	[STEP_HEAR_BROKEN] = { "hear-broken", SUBJECT_HOST,
	    .form = FORM_KEY, .scripted = true },
	[STEP_HEAR_CHANGED] = { "hear-changed", SUBJECT_HOST,
	    .form = FORM_KEY, .scripted = true },
	[STEP_HEAR_WATCHING] = { "hear-watching", SUBJECT_HOST,
	    .form = FORM_KEY, .scripted = true },
	[STEP_HEAR_USED] = { "hear-used", SUBJECT_HOST,
	    .form = FORM_KEY, .scripted = true },
	[STEP_MESSAGE] = { "message", SUBJECT_HOST, .form = FORM_MESSAGE },
	[STEP_OPERATION] = { "operation", SUBJECT_HOST, .form = FORM_MESSAGE,
	    .scripted = true },
	[STEP_TABLE_CUT] = { "table cut", SUBJECT_TABLE,
	    .form = FORM_DURATION },
	[STEP_TABLE_THROTTLE] = { "table throttle", SUBJECT_TABLE,
	    .form = FORM_DURATION },
	[STEP_TABLE_EXPIRE] = { "table expire", SUBJECT_TABLE,
	    .form = FORM_SHIFT },
	[STEP_HAND_DELETE] = { "hand delete", SUBJECT_HAND, .form = FORM_KEY },
	[STEP_HAND_BREAK] = { "hand break", SUBJECT_HAND, .form = FORM_KEY },
	[STEP_HAND_GARBLE] = { "hand garble", SUBJECT_HAND, .form = FORM_KEY },
	[STEP_HAND_REPAIR] = { "hand repair", SUBJECT_HAND, .form = FORM_KEY },
	[STEP_HAND_END_SESSION] = { "hand end-session", SUBJECT_HAND,
	    .form = FORM_SESSION },
	[STEP_HAND_DELETE_SESSION] = { "hand delete-session", SUBJECT_HAND,
	    .form = FORM_SESSION },
	[STEP_HAND_GARBLE_SESSION] = { "hand garble-session", SUBJECT_HAND,
	    .form = FORM_SESSION,
	    .scripted = true },
	[STEP_HAND_WAITER_MARK] = { "hand wish", SUBJECT_HAND,
	    .form = FORM_HAND },
	[STEP_HAND_REMOVE_MARK] = { "hand unwish", SUBJECT_HAND,
	    .form = FORM_HAND,
	    .scripted = true },
	[STEP_HAND_HOLD] = { "hand hold", SUBJECT_HAND, .form = FORM_HAND,
	    .scripted = true },
	[STEP_HAND_TAKE] = { "hand take", SUBJECT_HAND, .form = FORM_HAND,
	    .scripted = true },
	[STEP_HAND_TOKEN] = { "hand token", SUBJECT_HAND, .form = FORM_HAND,
	    .scripted = true },
	[STEP_HAND_BACKUP] = { "hand backup", SUBJECT_HAND,
	    .form = FORM_NOTHING },
	[STEP_HAND_RESTORE] = { "hand restore", SUBJECT_HAND,
	    .form = FORM_NOTHING },
	[STEP_HAND_SPEND] = { "hand spend", SUBJECT_HAND, .form = FORM_HAND },
	[STEP_SHOW] = { "show", SUBJECT_HOST, .form = FORM_NOTHING,
	    .scripted = true },
	[STEP_TALLY] = { "tally", SUBJECT_HOST, .form = FORM_NOTHING,
	    .scripted = true },
	[STEP_BREAK] = { "break", SUBJECT_CLIENT_AT, .form = FORM_KEY },
	[STEP_RAISE] = { "raise", SUBJECT_CLIENT_AT, .form = FORM_KEY },
};

static const struct {
	const char *name;
	enum fault_form form;
	bool scripted;
} plan_faults[MESSAGE_FAULTS] = {
	[MESSAGE_LOST] = { "lose", .form = FAULT_ALONE },
	[MESSAGE_ANSWER_LOST] = { "lose-answer", .form = FAULT_ALONE },
	[MESSAGE_LATE] = { "late", .form = FAULT_DURATION },
	[MESSAGE_ANSWER_LATE] = { "answer-late", .form = FAULT_DURATION },
	[MESSAGE_TWICE] = { "twice", .form = FAULT_DURATION },
	[MESSAGE_UNSENT] = { "unsent", .form = FAULT_ALONE },
	[MESSAGE_THROTTLED] = { "throttled", .form = FAULT_ALONE },
	[MESSAGE_FAILED] = { "failed", .form = FAULT_ALONE },
	[MESSAGE_FAILED_AFTER] = { "failed-after", .form = FAULT_ALONE },
	[MESSAGE_GARBLED] = { "garbled", .form = FAULT_ALONE },
	[MESSAGE_DENIED] = { "denied", .form = FAULT_ALONE },
	[MESSAGE_UNPROCESSED] = { "unprocessed", .form = FAULT_COUNT },
	[MESSAGE_REFUSED] = { "refused", .form = FAULT_TYPE,
	    .scripted = true },
	[MESSAGE_IN_THE_WAY] = { "in-the-way", .form = FAULT_ALONE,
	    .scripted = true },
};

const struct step_words *
plan_step_words(enum step_kind kind)
{
	return &plan_steps[kind];
}

const char *
plan_step_name(enum step_kind kind)
{
	if (kind <= 0 || kind >= STEP_KINDS)
		return "none";
	return plan_steps[kind].name;
}

const char *
plan_step_verb(enum step_kind kind)
{
	const char *space = strchr(plan_steps[kind].name, ' ');

	return space == NULL ? plan_steps[kind].name : space + 1;
}

enum fault_form
plan_fault_form(enum message_fault fault)
{
	return plan_faults[fault].form;
}

bool
plan_step_is_scripted(enum step_kind kind)
{
	return plan_steps[kind].scripted;
}

bool
plan_fault_is_scripted(enum message_fault fault)
{
	return plan_faults[fault].scripted;
}

const char *
plan_fault_name(enum message_fault fault)
{
	if (fault <= 0 || fault >= MESSAGE_FAULTS)
		return "none";
	return plan_faults[fault].name;
}

const char *
plan_format_name(enum plan_format format)
{
	static const char *const names[FORMATS] = {
		[FORMAT_NATIVE] = "native",
		[FORMAT_AWSLABS] = "awslabs",
		[FORMAT_PYTHON] = "python",
		[FORMAT_JS_OPEN] = "js-fail-open",
		[FORMAT_JS_CLOSED] = "js-fail-closed",
		[FORMAT_DLOCK] = "dlock",
	};

	return names[format];
}

const char *
plan_phase_name(enum plan_phase phase)
{
	static const char *const names[PHASES] = {
		[PHASE_OLD] = "old",
		[PHASE_BRIDGE] = "bridge",
		[PHASE_NATIVE] = "native",
	};

	return names[phase];
}

static const struct {
	const char *name;
	enum plan_format format;
} plan_peers[PEER_KINDS] = {
	[PEER_NONE] = { "none", FORMAT_NATIVE },
	[PEER_JAVA] = { "java", FORMAT_AWSLABS },
	[PEER_DYNAMOLOCK] = { "dynamolock", FORMAT_AWSLABS },
	[PEER_PYTHON] = { "python", FORMAT_PYTHON },
	[PEER_JS_OPEN] = { "js-fail-open", FORMAT_JS_OPEN },
	[PEER_JS_CLOSED] = { "js-fail-closed", FORMAT_JS_CLOSED },
	[PEER_DLOCK] = { "dlock", FORMAT_DLOCK },
};

const char *
plan_peer_name(enum peer_kind kind)
{
	return plan_peers[kind].name;
}

enum plan_format
plan_peer_format(enum peer_kind kind)
{
	return plan_peers[kind].format;
}

const char *
plan_end_name(enum plan_end end)
{
	static const char *const names[] = {
		[END_RELEASE] = "release",
		[END_CLOSE] = "close",
		[END_DRAIN] = "drain",
		[END_NEVER] = "never",
		[END_CUT_OFF] = "cut-off",
	};

	return names[end];
}
