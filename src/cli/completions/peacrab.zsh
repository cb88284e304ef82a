#compdef peacrab
_peacrab() {
    local -a found
    found=("${(@f)$("${words[1]}" __complete zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        _describe peacrab found
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _peacrab ]]; then
    _peacrab "$@"
else
    compdef _peacrab peacrab
fi
