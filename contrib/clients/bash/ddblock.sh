# A client of ddblockd for bash: locks of this host or of a fleet.
#
#	. ./ddblock.sh
#	ddblock_open name=report || exit
#	if ddblock_acquire jobs/nightly wait=30s; then
#		hold=$ddblock_id
#		write_report "${ddblock_fields[token]}"
#		ddblock_release "$hold"
#	else
#		echo "$ddblock_code: $ddblock_text" >&2
#	fi
#
# or `ddblock_with jobs/nightly wait=30s -- write_report`. (For a command that
# must be stopped when the lock is lost there is `ddblock run`.)
#
# One file; copy it. It needs bash 4.4 and socat, which runs as a coprocess, and
# speaks ddblock-protocol(7). A hold belongs to its connection: when that is
# closed or the shell ends, the daemon gives the lock to the next waiter.
# (Programs that the shell left running have the connection, too.) A hold that
# was acquired with linger=1m stays for so long: ddblock_resume brings it back,
# under the same id, on another connection.
#
# After `ddblock_open resume=yes` the functions below connect again when the
# daemon has ended the connection, by a restart for example, and its holds go
# on: meanwhile each is valid until half a margin before its deadline,
# afterwards it is either valid or lost. Requests fail meanwhile (NO_DAEMON),
# and so do those that were under way; what they may have been granted is
# given back. A release is done later. Events BROKEN and RESUMED tell of it.
# There must be something to go on with: a connection without a hold that the
# daemon keeps is over (NO_DAEMON), and a program that lives on opens another.
#
# Every hold has a deadline that renewals move on, and counts down by itself: a
# daemon that is stopped or dead cannot keep `ddblock_valid ID` true. A shell
# does one thing at a time: it is told of a danger or a loss only when it calls
# ddblock_valid, ddblock_event, or any request.
#
# Arguments are NAME=VALUE, and go to the daemon unchanged: arguments of newer
# daemons can be used without a new client, as can verbs, by ddblock_request. A
# NAME that ends in % has a VALUE that is encoded already:
# "data%=$(ddblock_encode <file)" for bytes that no variable can hold.
#
# A function returns 0, or 1 with ddblock_code and ddblock_text; in
# ddblock_fields is the daemon's answer, in ddblock_encoded the same before
# decoding (ddblock_decode writes the bytes). NO_DAEMON: there is no connection
# (any more); PROTOCOL: the answer was not understood.

ddblock_connection=main # the one that is meant; see ddblock_use
ddblock_serial=0
declare -gA ddblock_fields ddblock_encoded
declare -gA ddblock_in ddblock_out     # descriptors of a connection
declare -gA ddblock_rest ddblock_ended # what was read in part; why it ended
declare -gA ddblock_default_ns
# Does it connect again? When, in boot time, or "opening" until RESUME is
# answered; the pause between two tries; its HELLO, quoted.
declare -gA ddblock_resumes ddblock_away ddblock_pause ddblock_hello
declare -gA ddblock_found # by the rows of RESUME: CONNECTION ID
declare -gA ddblock_kept ddblock_margin # of a hold, if the connection breaks
declare -gA ddblock_secret # by which what lingers of a connection is resumed
# Of a request under way, by its tag: its connection, its verb, the namespace
# that it names, and its reply.
declare -gA ddblock_asked_by ddblock_verb ddblock_asked_ns ddblock_reply
# Of a hold, by its id; how often it is held, and the tag of its RELEASE while
# that is under way.
declare -gA ddblock_owner ddblock_until ddblock_limit ddblock_ns \
    ddblock_reason ddblock_count ddblock_releasing
declare -gA ddblock_tokens # ID KEY, which is encoded
declare -ga ddblock_ids=() # what ddblock_resume has
declare -ga ddblock_rows=()   # TAG LINE, unread
declare -ga ddblock_events=() # CONNECTION LINE, unread

DDBLOCK_LINE_MAX=1048576
DDBLOCK_EVENTS_MAX=1024 # unread; the oldest are dropped first
# Timers stop while the host sleeps; the clock of deadlines does not. So no wait
# is longer than this without a look at that clock.
DDBLOCK_LOOK_MS=1000
DDBLOCK_NEVER_MS=$((1 << 62)) # the deadline of a hold without a deadline

# ---- the wire ---------------------------------------------------------------

# CLOCK_BOOTTIME, the clock of all deadlines, in steps of 10 ms. The clock may
# be a step ahead of what is read, so the next step is used.
ddblock_boot_ms() { # sets ddblock_now
	local up
	IFS=' ' read -r up _ </proc/uptime
	ddblock_now=$((10#${up/./} * 10 + 10))
}

ddblock_encode() { # [TEXT]: as it stands on the wire; without TEXT, stdin
	local LC_ALL=C IFS=$' \n' text=${1-} out= char code i
	if [ $# = 0 ]; then
		for code in $(od -An -v -tx1); do
			printf -v char "\\x$code"
			if [[ -z $char || $char == [^!-~] || $char == [%=] ||
			    $out$char == : ]]; then
				char=%${code^^}
			fi
			out+=$char
		done
	fi
	for ((i = 0; i < ${#text}; i++)); do
		char=${text:i:1}
		if [[ $char == [^!-~] || $char == [%=] ||
		    $out$char == : ]]; then
			printf -v code %d "'$char"
			printf -v char '%%%02X' $((code & 255))
		fi
		out+=$char
	done
	printf %s "$out"
}

ddblock_decode() { # TEXT: the bytes
	local LC_ALL=C text=${1//\\/\\\\}
	printf %b "${text//%/\\x}"
}

ddblock_duration_ms() { # TEXT, as the daemon writes it; sets ddblock_ms
	if [[ $1 =~ ^([0-9]+)ms$ ]]; then
		ddblock_ms=$((10#${BASH_REMATCH[1]}))
	elif [[ $1 =~ ^([0-9]+)(\.([0-9]))?s$ ]]; then
		ddblock_ms=$((10#${BASH_REMATCH[1]} * 1000 +
			10#0${BASH_REMATCH[3]-} * 100))
	else
		return 1
	fi
}

# Take apart NAME=VALUE.. and :TEXT. (No value begins with a colon.)
ddblock_parse() { # LINE
	local LC_ALL=C line=$1 word value
	local -a words
	ddblock_text='' ddblock_fields=() ddblock_encoded=()
	if [[ $line == *" :"* ]]; then
		ddblock_text=${line#*" :"}
		line=${line%%" :"*}
	fi
	IFS=' ' read -ra words <<<"$line"
	for word in "${words[@]}"; do
		[[ $word == *=* ]] || continue
		ddblock_encoded[${word%%=*}]=${word#*=}
		# A variable cannot hold a NUL.
		value=${word#*=}
		value=${value//%00/}
		value=${value//\\/\\\\}
		printf -v value %b "${value//%/\\x}"
		ddblock_fields[${word%%=*}]=$value
	done
}

# ---- requests ---------------------------------------------------------------

ddblock_fail() { # CODE TEXT
	ddblock_code=$1 ddblock_text=$2 ddblock_fields=() ddblock_encoded=()
	return 1
}

# Send a request and go on. Sets ddblock_tag, for ddblock_wait.
ddblock_send() { # VERB [-k KEY].. [NAME=VALUE..]
	local LC_ALL=C verb=$1 ns=${ddblock_default_ns[$ddblock_connection]-}
	local ended=${ddblock_ended[$ddblock_connection]-not open} manual=
	local line="#$((++ddblock_serial)) $1"
	[ -z "$ended" ] || ddblock_fail NO_DAEMON "$ended" || return
	[ -z "${ddblock_away[$ddblock_connection]-}" ] ||
	    [ -n "${ddblock_opening-}" ] ||
	    ddblock_fail NO_DAEMON "the connection broke; another is tried" ||
	    return
	shift
	while [ $# -gt 0 ]; do
		[[ $1 != renew?(%)=manual ]] || manual=yes
		case $1 in
		-k)
			# It would not be seen on the wire.
			[ -n "$2" ] ||
			    ddblock_fail BAD_REQUEST "a key is empty" || return
			line+=" $(ddblock_encode "$2")"
			shift
			;;
		*%=*) line+=" $(ddblock_encode "${1%%\%=*}")=${1#*%=}" ;;
		*)
			line+=" $(ddblock_encode "${1%%=*}")"
			line+="=$(ddblock_encode "${1#*=}")"
			[[ $1 != ns=* ]] || ns=${1#ns=}
			;;
		esac
		shift
	done
	[ ${#line} -lt $DDBLOCK_LINE_MAX ] ||
	    ddblock_fail BAD_REQUEST "the request is longer than a line" ||
	    return
	ddblock_tag=$ddblock_serial
	ddblock_asked_by[$ddblock_tag]=$ddblock_connection
	ddblock_verb[$ddblock_tag]=$verb
	[ -z "$manual" ] || ns= # only its own RENEW moves its deadline
	ddblock_asked_ns[$ddblock_tag]=$ns
	# In a process of its own: SIGPIPE would end this one. A reader finds
	# the end, with the reason.
	(printf '%s\n' "$line" >&"${ddblock_out[$ddblock_connection]}") \
	    2>/dev/null
	return 0
}

# Wait for the reply. After ACQUIRE and TRY, ddblock_id is the hold's.
ddblock_wait() { # TAG
	local tag=$1
	while [ -z "${ddblock_reply[$tag]-}" ]; do
		ddblock_read "${ddblock_asked_by[$tag]}" "$DDBLOCK_LOOK_MS"
	done
	local reply=${ddblock_reply[$tag]}
	ddblock_forget "$tag"
	ddblock_parse "$reply"
	ddblock_id=${ddblock_fields[id]-}
	ddblock_code=
	[[ $reply != ERR* ]] || {
		ddblock_code=${reply#ERR }
		ddblock_code=${ddblock_code%% *}
		return 1
	}
}

ddblock_request() { # VERB [-k KEY].. [NAME=VALUE..]
	ddblock_send "$@" && ddblock_wait "$ddblock_tag"
}

# Give a request up, also on an interrupt. A late grant is released.
ddblock_abandon() { # TAG
	local ddblock_connection=${ddblock_asked_by[$1]-main}
	local verb=${ddblock_verb[$1]-}
	[ -n "${ddblock_reply[$1]-}" ] || ddblock_send_unheard CANCEL "tag=$1"
	if ddblock_wait "$1" && [[ $verb == @(ACQUIRE|TRY) ]]; then
		ddblock_send_unheard RELEASE "id=$ddblock_id"
		ddblock_let_go "$ddblock_id"
	fi
}

ddblock_cancel() { # TAG: ddblock_fields[cancelled] is yes, or it was late
	local ddblock_connection=${ddblock_asked_by[$1]-$ddblock_connection}
	ddblock_request CANCEL "tag=$1"
}

ddblock_send_unheard() { # as ddblock_send, and ddblock_tag stays
	local ddblock_tag
	ddblock_send "$@" && ddblock_reply[$ddblock_tag]=abandoned
}

ddblock_forget() { # TAG
	unset "ddblock_reply[$1]" "ddblock_verb[$1]" "ddblock_asked_by[$1]" \
	    "ddblock_asked_ns[$1]"
}

# ---- reading ----------------------------------------------------------------

# Read one line of a connection and handle it, or return when the time or a
# deadline has passed.
ddblock_read() { # CONNECTION MILLISECONDS
	local ms=$2 id
	ddblock_reopen "$1"
	ddblock_boot_ms
	for id in "${!ddblock_until[@]}"; do
		ddblock_good "$id"
		if ddblock_counts "$id" &&
		    ((ddblock_good - ddblock_now < ms)); then
			ms=$((ddblock_good - ddblock_now))
		fi
	done
	ddblock_read_line "$1" "$ms" || ddblock_judge
}

# 1: no line came in that time.
ddblock_read_line() { # CONNECTION MILLISECONDS
	local LC_ALL=C line='' status ms=$(($2 > 0 ? $2 : 1))
	[ -z "${ddblock_ended[$1]-not open}" ] || return 0
	if [[ ${ddblock_away[$1]-} == [0-9]* ]]; then # no connection
		((ms <= 50)) || ms=50
		sleep "0.$(printf %03d $ms)"
		return 1
	fi
	IFS= read -r -t "$((ms / 1000)).$(printf %03d $((ms % 1000)))" \
	    -u "${ddblock_in[$1]}" line
	status=$?
	ddblock_rest[$1]+=$line
	if [ $status = 0 ]; then
		line=${ddblock_rest[$1]%$'\r'}
		ddblock_rest[$1]=
		ddblock_take "$1" "$line"
	elif [ $status -gt 128 ]; then
		return 1
	else
		ddblock_part "$1" "the daemon ended the connection"
	fi
}

# Read the lines that have come, and do not wait for more.
ddblock_drain() { # CONNECTION
	ddblock_reopen "$1"
	while [ -z "${ddblock_ended[$1]-not open}" ] &&
	    [[ ${ddblock_away[$1]-} != [0-9]* ]] &&
	    read -r -t 0 -u "${ddblock_in[$1]}"; do
		ddblock_read_line "$1" 1
	done
}

ddblock_take() { # CONNECTION LINE
	local tag= line=$2
	if [[ $line == \#* ]]; then
		tag=${line%% *}
		tag=${tag#\#}
		line=${line#* }
	fi
	if [[ $line == !* ]]; then
		ddblock_event_came "$1" "${line#!}"
	elif [ -n "$tag" ] && [ "${ddblock_asked_by[$tag]-}" = "$1" ]; then
		ddblock_answer "$tag" "$line"
	elif [[ -z $tag && $line == ERR* ]]; then
		# It refuses the connection, not a request of ours. After most
		# reasons there is another one.
		line=${line#ERR }
		[ -z "${ddblock_resumes[$1]-}" ] || [[ ${line%% *} == \
		    @(LOCK_NOT_OWNED|DENIED|BAD_REQUEST|PROTOCOL) ]] ||
		    return 0
		ddblock_end "$1" "${line%% *}" "${line#*:}"
	fi
}

ddblock_answer() { # TAG LINE
	local state=${ddblock_reply[$1]-}
	if [ -n "${ddblock_away[${ddblock_asked_by[$1]}]-}" ] &&
	    [ "${ddblock_verb[$1]}" = RESUME ]; then
		ddblock_reopening "$1" "$2"
		return
	fi
	if [[ $2 == "+ "* && ${ddblock_verb[$1]} == RESUME ]]; then
		ddblock_resumed "$1" "$2"
		return
	elif [[ $2 == + || $2 == "+ "* ]]; then
		[ -n "$state" ] || ddblock_rows+=("$1 ${2#+}")
		return
	fi
	if [[ ${ddblock_verb[$1]} == @(ACQUIRE|TRY) && $2 == OK* ]]; then
		ddblock_grant "$1" "$2"
	elif [ -z "$state" ]; then
		ddblock_reply[$1]=$2
	fi
	[ -z "$state" ] || ddblock_forget "$1"
}

ddblock_grant() { # TAG LINE
	local ddblock_connection=${ddblock_asked_by[$1]} id secret
	ddblock_parse "$2"
	id=${ddblock_fields[id]-}
	secret=${ddblock_fields[secret]-}
	[ -z "$secret" ] || ddblock_secret[$ddblock_connection]=$secret
	ddblock_reply[$1]=$2
	if ddblock_counts "$id"; then
		ddblock_count[$id]=$((${ddblock_count[$id]} + 1))
		ddblock_extend "$id"
	elif ddblock_begin "$id" "${ddblock_asked_ns[$1]}"; then
		ddblock_take_token "$id "
		ddblock_take_tokens "$1" "$id"
	else
		ddblock_reply[$1]="ERR PROTOCOL :$ddblock_text"
	fi
}

# A row of RESUME: a lock that this client holds from here on.
ddblock_resumed() { # TAG LINE
	local ddblock_connection=${ddblock_asked_by[$1]} id IFS=' '
	ddblock_parse "$2"
	id=${ddblock_fields[id]-}
	ddblock_take_token "$id ${ddblock_encoded[key]-}"
	# One more of several locks?
	[[ " ${ddblock_ids[*]} " != *" $id "* ]] || return 0
	if ! ddblock_begin "$id" "${ddblock_fields[ns]-}"; then
		ddblock_reply[$1]="ERR PROTOCOL :$ddblock_text"
		return
	fi
	ddblock_ids+=("$id")
	ddblock_count[$id]=${ddblock_fields[count]-1}
	[ "${ddblock_fields[state]-}" != lost ] ||
	    ddblock_lose "$id" "${ddblock_fields[reason]-unknown}"
}

# 1: ddblock_text says why not.
ddblock_begin() { # ID NS, as ddblock_fields says
	local until=${ddblock_fields[until_boot_ms]-$DDBLOCK_NEVER_MS}
	ddblock_boot_ms
	ddblock_ms=$until
	if [ -z "$1" ] || { [ "$until" != $DDBLOCK_NEVER_MS ] &&
	    ! ddblock_duration_ms "${ddblock_fields[remaining]-}"; }; then
		ddblock_text="cannot read the grant"
		return 1
	elif ((until - ddblock_now > ddblock_ms + DDBLOCK_LOOK_MS)); then
		ddblock_send_unheard RELEASE "id=$1"
		ddblock_text="the daemon has another boot-time clock"
		return 1
	fi
	ddblock_owner[$1]=$ddblock_connection
	ddblock_until[$1]=$until
	ddblock_limit[$1]=${ddblock_fields[end_boot_ms]-} # max_hold
	ddblock_ns[$1]=$2
	ddblock_reason[$1]=
	ddblock_count[$1]=1
	ddblock_kept[$1]=${ddblock_fields[secret]-}${ddblock_fields[state]-}
	ddblock_margin[$1]=0
	! ddblock_duration_ms "${ddblock_fields[margin]-}" ||
	    ddblock_margin[$1]=$ddblock_ms
}

# The deadline; without a connection half a margin earlier.
ddblock_good() { # ID; sets ddblock_good
	ddblock_good=${ddblock_until[$1]}
	[ -z "${ddblock_away[${ddblock_owner[$1]}]-}" ] ||
	    ddblock_good=$((ddblock_good - ${ddblock_margin[$1]} / 2))
}

# In decimal, whatever its size.
ddblock_take_token() { # ID KEY, which is encoded, as one word
	local token=${ddblock_fields[token]-}
	ddblock_tokens["$1"]=${ddblock_fields[token_text]-$token}
}

# The rows before the grant of several locks have a token for each.
ddblock_take_tokens() { # TAG ID
	local i
	for i in "${!ddblock_rows[@]}"; do
		[ "${ddblock_rows[i]%% *}" = "$1" ] || continue
		ddblock_parse "${ddblock_rows[i]#* }"
		ddblock_take_token "$2 ${ddblock_encoded[key]-}"
		unset "ddblock_rows[i]"
	done
}

ddblock_event_came() { # CONNECTION LINE
	local id
	ddblock_parse "$2"
	case $2 in
	"RENEWED "*)
		for id in "${!ddblock_ns[@]}"; do
			[ "${ddblock_owner[$id]} ${ddblock_ns[$id]}" != \
			    "$1 ${ddblock_fields[ns]-}" ] ||
			    [ -n "${ddblock_away[$1]-}" ] &&
			    [ -z "${ddblock_found["$1 $id"]-}" ] ||
			    ddblock_extend "$id"
		done
		return
		;;
	"LOCK_LOST "*)
		ddblock_lose "${ddblock_fields[id]-}" \
		    "${ddblock_fields[reason]-unknown}"
		return
		;;
	esac
	ddblock_extend "${ddblock_fields[id]-}"
	ddblock_tell "$1 $2"
}

ddblock_tell() { # CONNECTION LINE
	[ ${#ddblock_events[@]} -lt $DDBLOCK_EVENTS_MAX ] ||
	    ddblock_events=("${ddblock_events[@]:1}")
	ddblock_events+=("$1")
}

# A deadline moves forward only, and not beyond the hold's end.
ddblock_extend() { # ID, by what ddblock_fields says
	local until=${ddblock_fields[until_boot_ms]-0}
	local limit=${ddblock_limit[${1:-none}]-}
	[ -z "$limit" ] || ((until <= limit)) || until=$limit
	if [ -n "$1" ] && [ -n "${ddblock_until[$1]-}" ] &&
	    ((until > ddblock_until[$1])); then
		ddblock_until[$1]=$until
	fi
}

# Must its deadline be checked? Also while its release is under way.
ddblock_counts() { # ID
	[ -n "$1" ] && [ -n "${ddblock_until[$1]-}" ] &&
	    [ -z "${ddblock_reason[$1]}" ] &&
	    [ "${ddblock_count[$1]}${ddblock_releasing[$1]-}" != 0 ]
}

# The hold is lost: once, and for ever.
ddblock_lose() { # ID REASON
	local tag=${ddblock_releasing[${1:-none}]-}
	ddblock_counts "$1" || return 0
	ddblock_reason[$1]=$2
	# The daemon is stopped; its lock is free by now nevertheless.
	[ -z "$tag" ] || [ -n "${ddblock_reply[$tag]-}" ] ||
	    ddblock_reply[$tag]="ERR LOCK_LOST :the lock was lost: $2"
	[ "${ddblock_count[$1]}" = 0 ] ||
	    ddblock_tell "${ddblock_owner[$1]} LOCK_LOST id=$1 reason=$2"
}

# Lines that have come on a hold's connection are read before its deadline is
# judged: one may be a renewal.
ddblock_judge() {
	local id
	for id in "${!ddblock_until[@]}"; do
		ddblock_is_over "$id" || continue
		ddblock_drain "${ddblock_owner[$id]}"
		ddblock_is_over "$id" || continue
		if [ -n "${ddblock_away[${ddblock_owner[$id]}]-}" ]; then
			ddblock_lose "$id" disconnected
			ddblock_holds_any "${ddblock_owner[$id]}" ||
			    ddblock_end "${ddblock_owner[$id]}" NO_DAEMON \
				"the connection broke"
		else
			ddblock_lose "$id" expired
		fi
	done
}

ddblock_holds_any() { # CONNECTION
	local id
	for id in "${!ddblock_owner[@]}"; do
		[ "${ddblock_owner[$id]}" != "$1" ] ||
		    ! ddblock_counts "$id" || return 0
	done
	return 1
}

ddblock_is_over() { # ID
	ddblock_boot_ms
	ddblock_counts "$1" && ddblock_good "$1" &&
	    ((ddblock_now >= ddblock_good))
}

# The connection broke: another is tried, for what the daemon keeps.
ddblock_part() { # CONNECTION TEXT
	local tag id pause=${ddblock_pause[$1]-0}
	if [ -z "${ddblock_resumes[$1]-}" ]; then
		ddblock_end "$1" NO_DAEMON "$2"
		return
	fi
	ddblock_hang_up "$1"
	for tag in "${!ddblock_asked_by[@]}"; do
		[ "${ddblock_asked_by[$tag]}" = "$1" ] || continue
		if [ "${ddblock_reply[$tag]-}" = abandoned ]; then
			ddblock_forget "$tag"
		elif [ -z "${ddblock_reply[$tag]-}" ]; then
			ddblock_reply[$tag]="ERR NO_DAEMON :$2"
		fi
	done
	for id in "${!ddblock_owner[@]}"; do
		[ "${ddblock_owner[$id]}" != "$1" ] ||
		    [ -n "${ddblock_kept[$id]}" ] ||
		    ddblock_lose "$id" disconnected
	done
	if ! ddblock_holds_any "$1"; then
		ddblock_end "$1" NO_DAEMON "$2"
		return
	fi
	[ -n "${ddblock_away[$1]-}" ] || ddblock_tell "$1 BROKEN"
	ddblock_boot_ms
	ddblock_away[$1]=$((ddblock_now + pause / 2 + RANDOM % (pause + 1)))
	((pause = pause == 0 ? 50 : pause * 2))
	ddblock_pause[$1]=$((pause > 1000 ? 1000 : pause))
}

# Another connection, if it is time for one, with its first requests.
ddblock_reopen() { # CONNECTION
	local ddblock_connection=$1 ddblock_opening=yes ddblock_tag id
	local -a hello
	[[ ${ddblock_away[$1]-} == [0-9]* ]] || return 0
	ddblock_boot_ms
	((ddblock_now >= ddblock_away[$1])) || return 0
	ddblock_dial
	ddblock_away[$1]=opening
	for id in "${!ddblock_found[@]}"; do
		[[ $id != "$1 "* ]] || unset "ddblock_found[$id]"
	done
	eval "hello=(${ddblock_hello[$1]})"
	ddblock_send_unheard HELLO proto=1 renewed=yes "${hello[@]}"
	ddblock_send_unheard HELLO resume=yes
	ddblock_send_unheard RESUME "secret=${ddblock_secret[$1]}"
}

# The answer to that RESUME.
ddblock_reopening() { # TAG LINE
	local ddblock_connection=${ddblock_asked_by[$1]} id
	if [[ $2 == "+ "* ]]; then
		ddblock_find "$2"
		return
	fi
	ddblock_forget "$1"
	case $2 in
	"ERR SHUTTING_DOWN"*) ;; # its end follows, and then another try
	ERR*)
		ddblock_end "$ddblock_connection" NO_DAEMON \
		    "the daemon does not know the holds"
		;;
	*)
		for id in "${!ddblock_owner[@]}"; do
			[ "${ddblock_owner[$id]}" != "$ddblock_connection" ] ||
			    ddblock_is_found "$id" ||
			    ddblock_lose "$id" disconnected
		done
		ddblock_away[$ddblock_connection]=
		ddblock_pause[$ddblock_connection]=0
		ddblock_tell "$ddblock_connection RESUMED"
		;;
	esac
}

ddblock_is_found() { # ID
	[ -n "${ddblock_found["$ddblock_connection $1"]-}" ]
}

# A row of it: ours again, or to be given back.
ddblock_find() { # LINE
	local ddblock_opening=yes id known=0 count
	ddblock_parse "$1"
	id=${ddblock_fields[id]-}
	! ddblock_is_found "$id" || return 0
	ddblock_found["$ddblock_connection $id"]=yes
	count=${ddblock_fields[count]-1}
	if ddblock_counts "$id"; then
		known=${ddblock_count[$id]}
		[ -z "${ddblock_fields[until_boot_ms]-}" ] ||
		    ddblock_until[$id]=${ddblock_fields[until_boot_ms]}
	fi
	for ((; known < count; known++)); do
		ddblock_send_unheard RELEASE "id=$id"
	done
	[ "${ddblock_fields[state]-}" != lost ] ||
	    ddblock_lose "$id" "${ddblock_fields[reason]-unknown}"
}

ddblock_hang_up() { # CONNECTION
	local in=${ddblock_in[$1]-} out=${ddblock_out[$1]-}
	[ -z "$in" ] || exec {in}<&- {out}>&-
	ddblock_in[$1]= ddblock_out[$1]= ddblock_rest[$1]=
}

# The connection is over, and with it all its holds.
ddblock_end() { # CONNECTION CODE TEXT
	local tag id
	ddblock_ended[$1]=$3
	ddblock_away[$1]=
	ddblock_hang_up "$1"
	for tag in "${!ddblock_asked_by[@]}"; do
		if [ "${ddblock_asked_by[$tag]}" = "$1" ]; then
			[ -n "${ddblock_reply[$tag]-}" ] ||
			    ddblock_reply[$tag]="ERR $2 :$3"
		fi
	done
	for id in "${!ddblock_owner[@]}"; do
		[ "${ddblock_owner[$id]}" != "$1" ] ||
		    ddblock_lose "$id" disconnected
	done
}

# ---- connections ------------------------------------------------------------

# A shell may have several connections; the functions below use this one.
ddblock_use() { # CONNECTION
	ddblock_connection=$1
}

# Connect to $DDBLOCK_SOCKET, or else to the default path.
ddblock_dial() {
	local path=${DDBLOCK_SOCKET:-/run/ddblockd/ddblockd.sock} in out
	# bash warns of a second coprocess; it forgets only the names of the
	# first one's descriptors, and those are stored here. It forgets them at
	# the end of a coprocess, too: so this one begins after they are stored.
	{
		coproc DDBLOCK_SOCAT {
			read -r _
			exec socat -t 1 - "UNIX-CONNECT:$path" 2>/dev/null
		}
	} 2>/dev/null
	local from=${DDBLOCK_SOCAT[0]} to=${DDBLOCK_SOCAT[1]}
	exec {in}<&"$from" {out}>&"$to" {from}<&- {to}>&-
	echo >&"$out"
	ddblock_in[$ddblock_connection]=$in
	ddblock_out[$ddblock_connection]=$out
	ddblock_rest[$ddblock_connection]=
	ddblock_ended[$ddblock_connection]=
}

# A connection; with resume=yes it is opened again.
ddblock_open() { # [resume=yes|no] [NAME=VALUE..], those of HELLO
	local each resumes=no
	local -a hello=()
	for each in "$@"; do
		if [[ $each == resume=* ]]; then
			resumes=${each#resume=}
		else
			hello+=("$each")
		fi
	done
	ddblock_resumes[$ddblock_connection]= ddblock_away[$ddblock_connection]=
	ddblock_pause[$ddblock_connection]=0
	ddblock_hello[$ddblock_connection]=
	[ ${#hello[@]} = 0 ] ||
	    ddblock_hello[$ddblock_connection]=$(printf '%q ' "${hello[@]}")
	ddblock_dial
	ddblock_request HELLO proto=1 renewed=yes "${hello[@]}" || return
	local namespaces=${ddblock_fields[namespaces]-default}
	ddblock_default_ns[$ddblock_connection]=${namespaces%%,*}
	[ "$resumes" = yes ] || return 0
	ddblock_resumes[$ddblock_connection]=yes
	# An older daemon refuses that, and keeps what lingers.
	ddblock_send_unheard HELLO resume=yes
}

# End the connection. The daemon releases all holds that do not linger.
ddblock_close() {
	local id
	[ -z "${ddblock_ended[$ddblock_connection]-not open}" ] || return 0
	for id in "${!ddblock_owner[@]}"; do
		[ "${ddblock_owner[$id]}" != "$ddblock_connection" ] ||
		    ddblock_count[$id]=0
	done
	ddblock_end "$ddblock_connection" NO_DAEMON "the connection was closed"
}

# ---- locks ------------------------------------------------------------------

# The lock, as soon as it is free (wait=5s: at most). Sets ddblock_id. With -k
# several locks as one, all or none; ddblock_token_of then knows their tokens.
ddblock_acquire() { # KEY [-k KEY].. [NAME=VALUE..]
	ddblock_request ACQUIRE -k "$@"
}

# The lock if it is free; else ddblock_code is LOCK_BUSY.
ddblock_try() { # KEY [-k KEY].. [NAME=VALUE..]
	ddblock_request TRY -k "$@"
}

# Resume the lingering holds of another connection by its secret, or of an
# earlier connection of this name, before the first acquire here: sets
# ddblock_ids. Holds that were lost meanwhile are among them; ddblock_token_of
# knows the tokens.
ddblock_resume() { # [SECRET]
	local secret=${1-${ddblock_secret[$ddblock_connection]-}}
	ddblock_ids=()
	ddblock_request RESUME "secret=$secret" || return
	ddblock_secret[$ddblock_connection]=$secret
}

# Sets ddblock_token, in decimal whatever its size; with KEY, of a hold of
# several locks, or that was resumed. 0: KEY is not among its locks, or its
# namespace's format has no tokens.
ddblock_token_of() { # ID [KEY]
	ddblock_token=${ddblock_tokens["$1 $(ddblock_encode "${2-}")"]-0}
}

# Release it, once. LOCK_LOST if it was lost before. A second release does
# nothing. It waits no longer than the hold's deadline.
ddblock_release() { # ID [NAME=VALUE..]
	local ddblock_connection=${ddblock_owner[$1]-$ddblock_connection} status
	[ "${ddblock_count[$1]-1}" != 0 ] || return 0
	ddblock_drain "$ddblock_connection"
	ddblock_judge
	if [ -n "${ddblock_reason[$1]-}" ]; then
		status=${ddblock_reason[$1]}
		ddblock_let_go "$1"
		ddblock_send_unheard RELEASE "id=$1"
		ddblock_fail LOCK_LOST "the lock was lost: $status"
		return
	fi
	if [ -n "${ddblock_away[$ddblock_connection]-}" ]; then
		ddblock_let_go "$1" # it is given back when it is found
		return 0
	fi
	ddblock_send RELEASE "id=$1" "${@:2}" || return
	ddblock_releasing[$1]=$ddblock_tag
	ddblock_count[$1]=$((${ddblock_count[$1]-1} - 1))
	ddblock_wait "$ddblock_tag"
	status=$?
	unset "ddblock_releasing[$1]"
	ddblock_released "$1" "$status"
	return "$status"
}

# The daemon says how often it is still held. A release that was refused for its
# arguments is repeated without them.
ddblock_released() { # ID STATUS, and what the daemon said
	local left=${ddblock_fields[count]-0}
	[ "$2" != 0 ] || ((left >= ddblock_count[$1])) ||
	    ddblock_count[$1]=$left
	[[ $ddblock_code != @(BAD_REQUEST|UNSUPPORTED) ]] ||
	    ddblock_send_unheard RELEASE "id=$1"
	[ "${ddblock_count[$1]}" != 0 ] || ddblock_forget_hold "$1"
}

# Count one hold less.
ddblock_let_go() { # ID
	ddblock_count[$1]=$((${ddblock_count[$1]-1} - 1))
	[ "${ddblock_count[$1]}" != 0 ] || ddblock_forget_hold "$1"
}

ddblock_forget_hold() { # ID
	local name
	for name in "${!ddblock_tokens[@]}"; do
		[[ $name != "$1 "* ]] || unset "ddblock_tokens[$name]"
	done
	unset "ddblock_owner[$1]" "ddblock_until[$1]" "ddblock_limit[$1]" \
	    "ddblock_ns[$1]" "ddblock_reason[$1]" "ddblock_kept[$1]" \
	    "ddblock_margin[$1]"
}

# Renew it now: a proof that the store answers.
ddblock_renew() { # ID [NAME=VALUE..]
	local ddblock_connection=${ddblock_owner[$1]-$ddblock_connection}
	ddblock_request RENEW "id=$1" "${@:2}" && ddblock_extend "$1"
}

# May the guarded resource be used? True only before the deadline.
ddblock_valid() { # ID
	ddblock_remaining "$1"
	((ddblock_ms > 0))
}

# Sets ddblock_ms, the time to the deadline unless a renewal moves it on.
ddblock_remaining() { # ID
	ddblock_drain "${ddblock_owner[$1]-$ddblock_connection}"
	ddblock_judge
	ddblock_ms=0
	ddblock_boot_ms
	if ddblock_counts "$1" && [ "${ddblock_count[$1]}" != 0 ]; then
		ddblock_good "$1"
		ddblock_ms=$((ddblock_good - ddblock_now))
	fi
}

# Wait until it is lost: ddblock_reason[ID].
ddblock_lost() { # ID
	while [ -z "${ddblock_reason[$1]}" ]; do
		ddblock_read "${ddblock_owner[$1]}" "$DDBLOCK_LOOK_MS"
	done
}

# Run a command or function with the lock. The status is the command's; if that
# is 0, the release's.
ddblock_with() { # KEY [NAME=VALUE..] -- COMMAND..
	local -a arguments=()
	local id status
	while [ "$1" != -- ]; do
		arguments+=("$1")
		shift
	done
	shift
	ddblock_acquire "${arguments[@]}" || return
	id=$ddblock_id
	"$@"
	status=$?
	ddblock_release "$id" || [ $status != 0 ] || status=1
	return $status
}

# ---- queries ---------------------------------------------------------

# The holder of the lock: ddblock_fields.
ddblock_get() { # KEY [NAME=VALUE..]
	ddblock_request GET -k "$@"
}

# The same, and from now on an event CHANGED at each change.
ddblock_watch() { # KEY [NAME=VALUE..]
	ddblock_request WATCH -k "$@"
}

ddblock_unwatch() { # KEY [NAME=VALUE..]
	ddblock_request UNWATCH -k "$@"
}

# For administrators: take the lock from its holder, if the holder has this
# token, or, if TOKEN is empty, if the record still is the record=.. of
# ddblock_get.
ddblock_break() { # KEY TOKEN REASON [NAME=VALUE..]
	ddblock_request BREAK -k "$1" ${2:+"token=$2"} "reason=$3" "${@:4}"
}

# Each of LIST, HELD, WAITING and STATUS: start it, then take its rows as they
# come; at the end ddblock_code is empty, or says why it ended.
#
#	ddblock_rows_of LIST prefix=jobs/
#	while ddblock_next_row; do
#		echo "${ddblock_fields[key]}"
#	done
ddblock_rows_of() { # VERB [NAME=VALUE..]; sets ddblock_listing
	ddblock_listing=
	ddblock_send "$@" || return
	ddblock_listing=$ddblock_tag
}

ddblock_next_row() {
	local i
	[ -n "$ddblock_listing" ] || return
	while :; do
		for i in "${!ddblock_rows[@]}"; do
			[ "${ddblock_rows[i]%% *}" = "$ddblock_listing" ] ||
			    continue
			ddblock_parse "${ddblock_rows[i]#* }"
			unset "ddblock_rows[i]"
			return 0
		done
		if [ -n "${ddblock_reply[$ddblock_listing]-}" ]; then
			ddblock_wait "$ddblock_listing"
			return 1
		fi
		ddblock_read "${ddblock_asked_by[$ddblock_listing]}" \
		    "$DDBLOCK_LOOK_MS"
	done
}

# The daemon's next event: ddblock_event_name, ddblock_fields. 1: none in that
# time, or the connection has ended.
ddblock_event() { # [MILLISECONDS]
	local i end
	ddblock_boot_ms
	end=$((ddblock_now + ${1-0}))
	while :; do
		for i in "${!ddblock_events[@]}"; do
			[[ ${ddblock_events[i]} == "$ddblock_connection "* ]] ||
			    continue
			ddblock_event_name=${ddblock_events[i]#* }
			ddblock_parse "$ddblock_event_name"
			ddblock_event_name=${ddblock_event_name%% *}
			unset "ddblock_events[i]"
			return 0
		done
		[ -z "${ddblock_ended[$ddblock_connection]}" ] || return 1
		ddblock_boot_ms
		((ddblock_now <= end)) || return 1
		ddblock_read "$ddblock_connection" "$DDBLOCK_LOOK_MS"
	done
}
