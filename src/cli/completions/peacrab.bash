_peacrab() {
    COMPREPLY=()
    local line
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <("$1" __complete bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
# Where nothing is known, files are completed.
complete -o bashdefault -o default -F _peacrab peacrab
