# Completion of ddblock(1) for bash.
#
# The words come from the program: commands and options from
# its own tables (--completion-data), the options of init-table and check-table
# from ddblockd's help, keys and namespaces from the daemon, if it answers.

# _ddblock_ask ARGUMENT...: ask the program, the way this line would.
_ddblock_ask() {
	timeout 1 "$program" "${where[@]}" "$@" 2>/dev/null </dev/null
}

# _ddblock_fields NAME COMMAND...: that field of the rows of a listing. What
# needs to be quoted is left out.
_ddblock_fields() {
	local name=$1
	shift
	_ddblock_ask --json "$@" |
	    sed -n "s/.*\"$name\":\"\([^\"\\\\]*\)\".*/\1/p"
}

# _ddblock_options COMMAND: lines of words: option, --NAME, letters, whether a
# value follows, words that it may be, what it is called, and an explanation.
_ddblock_options() {
	if [[ $specification == *DDBLOCKD-OPTION* ]]; then
		_ddblock_ask "$1" --help | sed -nE \
		    -e 's/--namespace=NAME/--namespace=NAMESPACE/' -e \
		    's/^ +(-(.), )?(--[a-z-]+)=([^ ]+).*/option\t\3\t\2-\tyes\t\t\4/p' \
		    -e 's/^ +(-(.), )?(--[a-z-]+)( .*)?$/option\t\3\t\2-\tno/p'
	else
		_ddblock_ask ${1:+"$1"} --completion-data | grep '^option'
	fi
}

# _ddblock_values OPTION: what its value may be.
_ddblock_values() {
	awk -F '\t' -v name="$1" '$2 == name { gsub(/\|/, "\n", $5)
	    print $5 }' <<<"$options"
	case $(awk -F '\t' -v name="$1" '$2 == name { print $6 }' \
	    <<<"$options") in
	FILE | PATH*) compgen -f -- "$value" ;;
	NAMESPACE) _ddblock_fields ns status ;;
	KEY | PREFIX) _ddblock_keys ;;
	SIGNAL) printf '%s\n' HUP INT QUIT KILL USR1 USR2 ALRM TERM CONT \
	    STOP TSTP WINCH ;;
	PID) cd /proc && printf '%s\n' [0-9]* ;;
	USER*) compgen -u -- "$value" ;;
	esac
}

# The store is not asked: a large table would take long, and capacity.
_ddblock_keys() {
	{ _ddblock_fields key held && _ddblock_fields key waiting; } | sort -u
}

# _ddblock_operand NUMBER: what it may be.
_ddblock_operand() {
	if [[ $specification == *' COMMAND...' ]] && (($1 > 1)); then
		if (($1 == 2)); then
			compgen -c -- "$current"
		else
			compgen -f -- "$current"
		fi
	elif [[ $specification == *KEY* ]] &&
	    { (($1 == 1)) || [[ $specification == *KEY...* ]]; }; then
		_ddblock_keys
	elif [[ $specification == '[COMMAND]' ]] && (($1 == 1)); then
		cut -f 2 <<<"$commands"
	fi
}

# _ddblock_letters WORD: of the letters after one hyphen, the option that has an
# argument; with a "=" behind it if that is in the word, too.
_ddblock_letters() {
	awk -F '\t' -v word="$1" '
	    $4 == "yes" { has[substr($3, 1, 1)] = $2 }
	    END { for (i = 2; i <= length(word); i++) {
		c = substr(word, i, 1)
		if (c in has) {
			print has[c] (i < length(word) ? "=" : "")
			exit
		} } }' <<<"$options"
}

# Go through the words before the current one. Sets command, specification,
# options, where, operands, ended (by --), and wanted: the option whose argument
# is the current word.
_ddblock_parse() {
	local word i
	options=$(_ddblock_options)
	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		word=${words[i]}
		if [[ -n $wanted ]]; then
			[[ $wanted == --socket ]] && where+=("--socket=$word")
			wanted=
		elif [[ $word == -- ]] &&
		    { [[ $ended == no ]] || ((operands == 1)); }; then
			ended=yes
		elif [[ $ended == no && $word == --socket=* ]]; then
			where+=("$word")
		elif [[ $ended == no && $word == --*=* ]]; then
			:
		elif [[ $ended == no && $word == --* ]]; then
			wanted=$(awk -F '\t' -v name="$word" \
			    '$2 == name && $4 == "yes" { print $2 }' \
			    <<<"$options")
		elif [[ $ended == no && $word == -?* ]]; then
			wanted=$(_ddblock_letters "$word")
		elif [[ -z $command ]]; then
			command=$word
			specification=$(awk -F '\t' -v name="$command" \
			    '$2 == name { print $3 }' <<<"$commands")
			options=$(_ddblock_options "$command")
		else
			operands=$((operands + 1))
			# What follows the key is the command's own.
			[[ $specification == *' COMMAND...' ]] && ended=yes
		fi
		# An option may stand for the key; then none follows.
		[[ $ended == no && ($word == --key=* || $wanted == --key*) ]] &&
		    operands=1
		[[ $wanted == *= ]] && wanted=
	done
}

_ddblock() {
	local program=$1 current value candidate candidates breaks= head=
	local command= specification= options= wanted= ended=no operands=0
	local -a words where=()
	local commands line=${COMP_LINE:0:COMP_POINT}

	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	current=${words[-1]}
	commands=$(_ddblock_ask --completion-data | grep '^command')
	_ddblock_parse
	value=$current
	if [[ -n $wanted ]]; then
		candidates=$(_ddblock_values "$wanted")
	elif [[ $ended == no && $current == --*=* ]]; then
		value=${current#*=}
		candidates=$(_ddblock_values "${current%%=*}")
	elif [[ $ended == no && $current == -* ]]; then
		candidates=$(awk -F '\t' '{ print $2 ($4 == "yes" ? "=" : "") }' \
		    <<<"$options")
	elif [[ -z $command ]]; then
		candidates=$(cut -f 2 <<<"$commands")
	else
		candidates=$(_ddblock_operand $((operands + 1)))
	fi

	# Readline replaces only what follows the last of its word breaks.
	[[ $COMP_WORDBREAKS == *=* ]] && breaks+="="
	[[ $COMP_WORDBREAKS == *:* ]] && breaks+=":"
	[[ -n $breaks ]] && head=${current%"${current##*[$breaks]}"}
	COMPREPLY=()
	while IFS= read -r candidate; do
		[[ -n $candidate && $candidate == "$value"* ]] || continue
		candidate=${current%"$value"}$candidate
		printf -v candidate %q "${candidate#"$head"}"
		COMPREPLY+=("$candidate")
	done <<<"$candidates"
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] &&
	    compopt -o nospace 2>/dev/null
	return 0
}

complete -F _ddblock ddblock
