# The driver of the shell's client: see test_clients.py.
# shellcheck disable=SC2154 # the client's variables
set -u
IFS=, # whatever the program splits at
. "${BASH_SOURCE[0]%/*}/../../contrib/clients/bash/ddblock.sh"

declare -A hold_of=() began=() hold_for=() name_of=()

say() { # WORDS, and what the daemon said
	local name line=$1
	for name in "${!ddblock_encoded[@]}"; do
		line+=" $(ddblock_decode "$name" | ddblock_encode)"
		line+="=$(ddblock_decode "${ddblock_encoded[$name]}" |
			ddblock_encode)"
	done
	printf '%s\n' "$line"
}

# What a command's words say: keys, the first of them, and arguments.
parse() { # WORD..
	local word name
	key='' keys=() arguments=()
	for word in "$@"; do
		case $word in
		*=*%00*)
			plain "${word%%=*}"
			arguments+=("$text%=${word#*=}")
			;;
		*=*)
			plain "${word%%=*}"
			name=$text
			plain "${word#*=}"
			arguments+=("$name=$text")
			;;
		*)
			plain "$word"
			[ "$word" != '""' ] || text=
			keys+=(-k "$text")
			key=${key:-$text}
			;;
		esac
	done
}

plain() { # ENCODED; sets text
	local escaped=${1//\\/\\\\}
	printf -v text %b "${escaped//%/\\x}"
}

failed() {
	say "error $ddblock_code"
}

outcome_of() { # COMMAND..
	if "$@"; then say ok; else failed; fi
}

granted() { # NAME
	hold_of[$1]=$ddblock_id
	name_of[$ddblock_id]=${name_of[$ddblock_id]-$1}
	say ok
}

begin() { # acquire|try|request C NAME|VERB WORD..
	local verb=${1/try/TRY}
	ddblock_use "$2"
	parse "${@:4}"
	[ "$1" != request ] || verb=$3
	ddblock_send "${verb/acquire/ACQUIRE}" "${keys[@]}" "${arguments[@]}"
}

finish() { # TAG [HOLD]
	if [ -n "$2" ]; then
		if ddblock_wait "$1"; then granted "$2"; else failed; fi
		return
	fi
	ddblock_listing=$1
	rows
}

listing() { # VERB
	ddblock_rows_of "$1" "${arguments[@]}" || {
		failed
		return
	}
	rows
}

rows() { # of ddblock_listing
	while ddblock_next_row; do
		say row
	done
	if [ -n "$ddblock_code" ]; then
		failed
	else
		say ok
	fi
}

# What is done with the lock.
body() { # KEY [fail]
	local id=$ddblock_id
	ddblock_get "$1"
	echo "body state=${ddblock_fields[state]}"
	[ "$2" != fail ] || {
		ddblock_request RELEASE "id=$id"
		return 77
	}
}

of_hold() { # COMMAND NAME WORD..
	local id=${hold_of[$2]}
	parse "${@:3}"
	case $1 in
	release | renew) outcome_of "ddblock_$1" "$id" "${arguments[@]}" ;;
	valid)
		if ddblock_valid "$id"; then echo yes; else echo no; fi
		;;
	token)
		ddblock_token_of "$id" "$key"
		echo "token $ddblock_token"
		;;
	count) echo "count ${ddblock_count[$id]-0}" ;;
	until)
		ddblock_valid "$id"
		echo "until ${ddblock_until[$id]}"
		;;
	lost)
		ddblock_lost "$id"
		echo "lost reason=${ddblock_reason[$id]}"
		;;
	esac
}

resume() { # SECRET NAME..
	local id
	if ! ddblock_resume "$1"; then
		failed
		return
	fi
	for id in "${ddblock_ids[@]}"; do
		shift
		hold_of[$1]=$id
		name_of[$id]=$1
	done
	echo "ok holds=${#ddblock_ids[@]}"
}

of_connection() { # COMMAND WORD..
	case $1 in
	open) outcome_of ddblock_open "${arguments[@]}" ;;
	close)
		ddblock_close
		echo ok
		;;
	get | watch | unwatch)
		outcome_of "ddblock_$1" "$key" "${arguments[@]}"
		;;
	break) outcome_of ddblock_break "$2" "${3#0}" "$4" "${arguments[@]}" ;;
	resume) resume "${ddblock_secret[$2]}" "${@:3}" ;;
	scope)
		ddblock_with "$2" -- body "$2" "${3-}"
		case $? in
		0) echo ok ;;
		77) echo "error body" ;;
		*) failed ;;
		esac
		;;
	event)
		while ddblock_event 60000; do
			[ "$ddblock_event_name" = "$2" ] || continue
			say "event $2 ${name_of[${ddblock_fields[id]--}]--}"
			return
		done
		;;
	*) listing "${1^^}" ;;
	esac
}

while IFS= read -r line; do
	IFS=' ' read -ra words <<<"$line"
	set -- "${words[@]}"
	case $1 in
	begin)
		began[$2]=
		if begin "${@:3}"; then
			began[$2]=$ddblock_tag
			hold_for[$2]=
			[ "$3" = request ] || hold_for[$2]=$5
			echo begun
		else
			failed
		fi
		;;
	end) finish "${began[$2]}" "${hold_for[$2]}" ;;
	cancel) outcome_of ddblock_cancel "${began[$2]}" ;;
	abandon)
		ddblock_abandon "${began[$2]}"
		echo ok
		;;
	acquire | try | request)
		if begin "$@"; then
			[ "$1" != request ] || set -- request
			finish "$ddblock_tag" "${3-}"
		else
			failed
		fi
		;;
	release | renew | token | count | valid | until | lost) of_hold "$@" ;;
	*)
		ddblock_use "$2"
		parse "${@:3}"
		of_connection "$1" "${@:3}"
		;;
	esac
done
exit 0
