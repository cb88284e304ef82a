#!/bin/sh
# Installs Peacrab, a personal AI agent, with its service. Or updates it, or removes it: `install.sh --help`.
# It needs no more than a POSIX shell and the usual small programs: BusyBox has enough of both.
set -eu

# The public key of the releases, in PEM format. `make release` puts it between these two lines.
# BEGIN RELEASE KEY
RELEASE_KEY=''
# END RELEASE KEY

# Bounds. A program has 4 MB.
list_bytes_max=65536
program_bytes_max=67108864
fetch_tries=3
fetch_seconds=600
stall_seconds=30
ready_seconds=${PEACRAB_READY_SECONDS:-60}

system_home=/var/lib/peacrab
unit=/etc/systemd/system/peacrab.service
init_script=/etc/init.d/peacrab
keep_list=/lib/upgrade/keep.d/peacrab

usage() {
    cat <<'USAGE'
Install or update Peacrab:

  curl -fsSL URL/install.sh | sudo sh -s -- --from URL
  sudo sh install.sh --from FOLDER|FILE|URL

FOLDER and URL contain a release: its programs, SHA256SUMS and SHA256SUMS.sig. FILE is one program or
tar.gz of a release, with the other two beside it. In an unpacked tar.gz, --from is not needed.

  --user           install for your own account only, in ~/.local (does not need root)
  --prefix DIR     install in DIR/bin instead of /usr/local/bin
  --no-service     do not set up a service
  --adopt DIR      take over this home folder for the service, with its configuration
  --profile NAME   hardened (default) or terminal: see `peacrab service install --help`
  --key FILE       the public key of the release, if this script does not contain it
  --no-signature   do not check who made the release; its checksums are still checked
  --allow-older    allow an older version than the installed one
  --dry-run        show each step and change nothing

Remove it:

  sudo sh install.sh --uninstall [--user] [--prefix DIR] [--purge [--yes]]

  --purge          also delete the configuration, the conversations and the workspace
  --yes            do not ask before that
USAGE
}

step() { printf '%-8s%s\n' "$1" "$2"; }
say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
fail() { warn "install.sh: $*"; exit 1; }
misused() { warn "install.sh: $*"; warn "Run it with --help to see how it is used."; exit 2; }
have() { command -v "$1" >/dev/null 2>&1; }
# Runs a command that changes something.
change() { [ "$dry_run" ] || "$@"; }

# ---------------------------------------------------------------------------------------------------------
# The board

# Whether the programs of this system are 32-bit: the fifth byte of an ELF file says so (elf(5)).
has_32_bit_programs() {
    [ "$(dd if=/bin/sh bs=1 skip=4 count=1 2>/dev/null | tr '\001\002' '12')" = 1 ]
}

# The vfp of the processor. "CPU architecture" does not help: a Pi Zero says 7 and is ARMv6.
has_feature() { grep -qE "^Features.*[[:space:]]($1)([[:space:]]|\$)" /proc/cpuinfo; }

# Prints the architecture in the names of the release's files.
architecture() {
    machine=$(uname -m)
    case $machine in
    x86_64 | amd64) echo x86_64 ;;
    riscv64) echo riscv64 ;;
    aarch64 | arm64)
        # A 32-bit system on a 64-bit kernel gets what its packages are: it needs less memory.
        if has_32_bit_programs; then echo armv7; else echo arm64; fi
        ;;
    armv7* | armv8*)
        # ARMv7 without VFPv3 is rare; the program for ARMv6 runs there too.
        if has_feature 'vfpv3|vfpv3d16|vfpv4'; then echo armv7; else echo armv6; fi
        ;;
    armv6*)
        has_feature vfp || fail "This processor has no floating-point unit, which Peacrab needs."
        echo armv6
        ;;
    *) fail "There is no Peacrab for this processor ($machine). It can be: x86_64, aarch64, armv7l, armv6l, riscv64." ;;
    esac
}

# What starts services here.
find_init() {
    if [ -d /run/systemd/system ]; then echo systemd
    elif [ -f /etc/rc.common ] && [ -x /sbin/procd ]; then echo openwrt
    elif have openrc-run && [ -d /etc/init.d ]; then echo openrc
    elif [ -d /etc/init.d ]; then echo sysv
    else echo none
    fi
}

# ---------------------------------------------------------------------------------------------------------
# Getting the files

# Fetches a URL into a file, once. `ulimit -f` counts blocks of 512 bytes.
fetch_once() {
    limit=
    if have timeout; then limit="timeout $fetch_seconds"; fi
    (
        ulimit -f $(($3 / 512 + 1))
        if have curl; then
            redirects=http,https
            case $1 in https:*) redirects=https ;; esac
            $limit curl --fail --silent --show-error --location --proto =http,https \
                --proto-redir "=$redirects" --connect-timeout "$stall_seconds" \
                --speed-limit 100 --speed-time "$stall_seconds" --output "$2" -- "$1"
        elif have wget && wget --help 2>&1 | grep -q -e --tries; then
            $limit wget --quiet --tries=1 --timeout="$stall_seconds" --output-document="$2" -- "$1"
        elif have uclient-fetch; then
            $limit uclient-fetch -q -T "$stall_seconds" -O "$2" "$1"
        else
            # BusyBox. Its -T crashes in some versions.
            $limit wget -q -O "$2" "$1"
        fi
    )
}

fetch() {
    have curl || have wget || have uclient-fetch ||
        fail "Nothing here can download files. Install curl or wget, or copy the release here and use --from FOLDER."
    tries=1
    until fetch_once "$1" "$2" "$3"; do
        rm -f "$2"
        [ "$tries" -lt "$fetch_tries" ] ||
            fail "Cannot download $1 (tried $fetch_tries times). Check the address, the network, the free space
and the clock: the board takes today for $(date +%Y-%m-%d), and https needs the right day."
        tries=$((tries + 1))
        sleep 1
    done
}

is_address() { case $1 in http://* | https://*) true ;; *) false ;; esac }

# Puts a file of the release into the scratch folder: what is checked there cannot change afterwards.
get() {
    if is_address "$base"; then
        fetch "$base/$1" "$scratch/$1" "$2"
    else
        [ -f "$base/$1" ] || fail "There is no $1 in $base."
        cp "$base/$1" "$scratch/$1" || fail "Cannot copy $base/$1 to $scratch."
    fi
    [ "$(wc -c <"$scratch/$1")" -le "$2" ] || fail "$1 is larger than $2 bytes. This is not a release."
}

# ---------------------------------------------------------------------------------------------------------
# Checking them

find_key() {
    if [ "$key" ]; then
        cp "$key" "$scratch/key.pem" || fail "Cannot read the key $key."
    elif [ "$RELEASE_KEY" ]; then
        printf '%s\n' "$RELEASE_KEY" >"$scratch/key.pem"
    elif ! is_address "$base" && [ -f "$base/release-key.pem" ]; then
        cp "$base/release-key.pem" "$scratch/key.pem"
        step note "the key is from the same folder: it shows damage, but not who made the release"
    else
        # A key from the address of the files would be as easy to exchange as they are.
        fail "This install.sh does not contain the key of the release. Use the install.sh of the release, or
--key FILE with a release-key.pem that you trust, or --no-signature."
    fi
}

check_signature() {
    have openssl || fail "The signature cannot be checked: openssl is missing. Install it (apt install openssl,
apk add openssl, opkg install openssl-util), or add --no-signature to trust the address alone."
    openssl pkeyutl -help 2>&1 | grep -q -e -rawin ||
        fail "The signature cannot be checked: it needs OpenSSL 3, and this is $(openssl version).
Check it on another computer, then add --no-signature."
    find_key
    get SHA256SUMS.sig "$list_bytes_max"
    openssl pkeyutl -verify -pubin -inkey "$scratch/key.pem" -rawin -in "$scratch/SHA256SUMS" \
        -sigfile "$scratch/SHA256SUMS.sig" >/dev/null 2>&1 ||
        fail "The signature of SHA256SUMS is wrong: the release is damaged, or made by someone else.
Nothing was installed."
    step checked "the signature of the release"
}

checksum() {
    if have sha256sum; then sha256sum <"$1" | cut -d' ' -f1
    elif have openssl; then openssl dgst -sha256 -r <"$1" | cut -d' ' -f1
    else fail "The checksum cannot be checked: sha256sum is missing."
    fi
}

check_checksum() {
    listed=$(awk -v name="$1" '$2 == name || $2 == "*" name { print $1 }' "$scratch/SHA256SUMS")
    [ "$listed" ] || fail "$1 is not in SHA256SUMS."
    [ "$(checksum "$scratch/$1")" = "$listed" ] ||
        fail "The checksum of $1 is wrong: it is damaged or incomplete. Nothing was installed."
    step checked "the checksum of $1"
}

# The file for this board in the list: with manual and init scripts if there is one, else the bare program.
choose_file() {
    for ending in .tar.gz ''; do
        found=$(awk '{ sub(/^\*/, "", $2); print $2 }' "$scratch/SHA256SUMS" |
            grep -E "^peacrab-[0-9][0-9A-Za-z.+~-]*-$arch$ending\$" || true)
        [ "$found" ] && break
    done
    case $found in
    '') fail "The release has no program for $arch." ;;
    *"
"*) fail "SHA256SUMS lists several versions. Name the file: --from $base/peacrab-VERSION-$arch.tar.gz" ;;
    esac
    echo "$found"
}

# Finds out what --from means. Sets base (folder or URL) and file (its name, if one was named).
locate() {
    file=
    base=${from%/}
    case $from in
    http://* | https://*)
        case ${from##*/} in peacrab-[0-9]*-*) file=${from##*/} base=${from%/*} ;; esac
        case $no_signature$from in
        yeshttp://*) fail "Without a signature, the address must begin with https://." ;;
        # The others follow a redirect to http.
        yeshttps://*) have curl || fail "Without a signature, downloads need curl. Install it, or leave --no-signature out." ;;
        esac
        ;;
    *://*) misused "--from takes a folder, a file, or an address with https:// or http://" ;;
    *)
        [ -e "$from" ] || fail "There is no $from."
        if [ ! -d "$from" ]; then
            file=${from##*/}
            base=$(dirname "$from")
        fi
        ;;
    esac
}

# Whether only root and the account that runs this can change a file or folder. Behind sudo that is the account which called it.
is_ours() {
    # shellcheck disable=SC2012 # find(1) of BusyBox prints no owners; names come last and are not read
    ls -ldn "$1" 2>/dev/null | awk -v me="$(id -u)" -v user="${SUDO_UID:-}" -v group="${SUDO_GID:-$(id -g)}" -v above="${2:-}" '{
        owned = $3 == 0 || $3 == me || (user != "" && $3 == user)
        closed = substr($1, 9, 1) != "w" && (substr($1, 6, 1) != "w" || $4 == group)
        # Such as /tmp, where nobody renames what is not theirs.
        sticky = above != "" && substr($1, 10, 1) ~ /[tT]/
        exit !(owned && (closed || sticky) && $1 ~ /^[-d]/)
    }'
}

# Gets the program, checks it, and sets program and extras (the folder of the same archive, with manual and init scripts).
obtain() {
    extras=
    here=
    case $0 in install.sh | */install.sh) here=$(cd "$(dirname "$0")" && pwd) ;; esac
    if [ -z "$from" ]; then
        if [ "$here" ] && [ -f "$here/peacrab" ]; then
            # It came in the same archive as this script, so nothing here could vouch for it, if nobody else put it there.
            for path in "$here" "$here/peacrab" "$here/man" "$here/man"/* "$here/init" "$here/init"/*; do
                [ ! -e "$path" ] && [ ! -L "$path" ] || is_ours "$path" ||
                    fail "Others can change $path: unpack the archive in a folder of your own."
            done
            # Or exchanged a folder above.
            above=$here
            while [ "$above" != / ]; do
                above=$(dirname "$above")
                is_ours "$above" above ||
                    fail "Others can change $above: unpack the archive in a folder of your own."
            done
            program=$here/peacrab extras=$here
            step use "$program"
            return
        fi
        [ -f "$here/SHA256SUMS" ] || misused "Where is the release? Add --from FOLDER|FILE|URL."
        from=$here
    fi
    locate
    if [ "$file" ] && [ "$no_signature" ] && ! is_address "$from" && [ -f "$from" ] && [ ! -e "$base/SHA256SUMS" ]; then
        step note "there is no SHA256SUMS beside $from, so nothing is checked"
        get "$file" "$program_bytes_max"
    else
        step get "SHA256SUMS from $base"
        get SHA256SUMS "$list_bytes_max"
        if [ "$no_signature" ]; then
            step note "the signature is not checked, because of --no-signature"
        else
            check_signature
        fi
        [ "$file" ] || file=$(choose_file)
        step get "$file"
        get "$file" "$program_bytes_max"
        check_checksum "$file"
    fi
    unpack
}

unpack() {
    program=$scratch/$file
    case $file in
    *.tar.gz)
        mkdir "$scratch/unpacked"
        gzip -dc "$program" | (cd "$scratch/unpacked" && tar -xof -) || fail "Cannot unpack $file."
        extras=$scratch/unpacked/${file%.tar.gz}
        program=$extras/peacrab
        [ -f "$program" ] || fail "There is no program in $file."
        ;;
    esac
}

# Prints the version of a program; fails where it does not run.
version_of() { "$1" --version </dev/null 2>/dev/null | sed -n 's/^peacrab \([0-9][^ ]*\)$/\1/p' | grep .; }

# Whether version $1 is older than $2. A pre-release (1.0.0-rc1) is older than its release.
is_older() {
    printf '%s %s\n' "$1" "$2" | awk '{
        for (field = 1; field <= 2; field++) {
            split($field, halves, "-")
            split(halves[1], parts, ".")
            for (n = 1; n <= 3; n++) number[field, n] = parts[n] + 0
            number[field, 4] = ($field !~ /-/)
            # 1.0.0-rc1 comes before 1.0.0-rc2.
            gsub(/[^0-9]/, "", halves[2])
            number[field, 5] = halves[2] + 0
        }
        for (n = 1; n <= 5; n++)
            if (number[1, n] != number[2, n]) exit !(number[1, n] < number[2, n])
        exit 1
    }'
}

# ---------------------------------------------------------------------------------------------------------
# The program

check_owner() {
    if have dpkg-query &&
        [ "$(dpkg-query -W -f='${db:Status-Status}' peacrab 2>/dev/null || true)" = installed ]; then
        fail "Peacrab is installed as a package here. Update it as a package:
  sudo apt install ./peacrab_VERSION_ARCHITECTURE.deb
To use this script instead, purge the package first (your data is kept): sudo apt purge peacrab"
    fi
}

check_root() {
    [ "$scope" = system ] && [ "$(id -u)" != 0 ] && [ -z "$dry_run" ] || return 0
    [ "$prefix_named" ] && [ "$no_service" ] && return
    fail "This needs root. Put sudo before the command (... | sudo sh -s -- ...), or add --user to install
for your own account only."
}

# One at a time. `peacrab update` takes the same lock. Other accounts cannot open the file.
lock() {
    have flock || return 0
    (umask 077 && : >>"$bin/.peacrab.lock") || fail "Cannot write to $bin. Nothing was installed."
    exec 9<"$bin/.peacrab.lock"
    flock -n 9 || fail "Another update is running. Wait until it has finished. Nothing was installed."
    locked=$bin/.peacrab.lock
}

# Before a service is started, which would keep it.
unlock() {
    [ -z "$locked" ] || rm -f "$locked"
    locked=
    exec 9<&-
}

# Puts the program beside its place and tries it there: /tmp may forbid programs.
stage() {
    if [ "$dry_run" ]; then
        new_version=$(version_of "$program") || new_version="version unknown: it does not run in $scratch"
        return
    fi
    mkdir -p "$bin" || fail "Cannot create $bin."
    lock
    staged=$bin/.peacrab.new
    # A link there would be followed.
    rm -f "$staged"
    if ! cp "$program" "$staged" || ! chmod 755 "$staged"; then
        fail "Cannot write to $bin. Is there enough space? Nothing was installed."
    fi
    new_version=$(version_of "$staged") ||
        fail "The program does not run on this board ($(uname -m), taken for $arch). Nothing was installed.
$("$staged" --version 2>&1 </dev/null | head -n 3)"
    sync
}

check_versions() {
    old_version=
    [ -e "$target" ] || return 0
    old_version=$(version_of "$target") || old_version='that does not run'
    [ -z "$allow_older" ] || return 0
    ! is_older "$new_version" "$old_version" ||
        fail "Peacrab $old_version is installed, which is newer than $new_version. To go back, add --allow-older."
}

# At every moment there is a whole program at its place.
swap() {
    if [ "$old_version" ]; then
        step keep "the old program ($old_version) as $target.old"
        change keep_old
    fi
    step install "$target ($new_version)"
    change mv -f "$staged" "$target"
    change sync
    is_new=yes
}

# Gives a program a second name, which takes no space, or copies it where files have one name only (FAT).
duplicate() {
    rm -f "$2"
    ln "$1" "$2" 2>/dev/null || cp -p "$1" "$2"
}

keep_old() {
    duplicate "$target" "$target.old" ||
        fail "Cannot keep the old program: no space in $bin? Nothing was installed."
}

put_program() {
    target=$bin/peacrab
    is_new=
    stage
    check_versions
    if cmp -s "$program" "$target"; then
        say "Peacrab $new_version is already installed: $target"
        [ "$dry_run" ] || rm -f "$staged"
    else
        swap
    fi
    unlock
    put_manual
    put_completions
    case :$PATH: in *:$bin:*) ;; *) step note "$bin is not in your PATH" ;; esac
}

put_manual() {
    [ "$extras" ] && [ -d "$extras/man" ] && [ "$init" != openwrt ] || return 0
    changed=
    for page in "$extras"/man/*.1; do
        cmp -s "$page" "$share/man/man1/${page##*/}" || changed="$changed ${page##*/}"
    done
    [ "$changed" ] || return 0
    step install "the manual: man peacrab"
    # The service has to be restarted all the same.
    for page in $changed; do
        if ! change mkdir -p "$share/man/man1" || ! change cp "$extras/man/$page" "$share/man/man1/"; then
            step note "cannot write the manual: no space?"
            return
        fi
    done
}

# Where a shell looks for completions.
completion_of() {
    case $1 in
    bash) echo "$share/bash-completion/completions/peacrab" ;;
    zsh) echo "$share/zsh/site-functions/_peacrab" ;;
    fish) echo "$share/fish/vendor_completions.d/peacrab.fish" ;;
    esac
}

put_completions() {
    for shell in bash zsh fish; do
        have "$shell" || continue
        place=$(completion_of "$shell")
        if [ "$dry_run" ]; then
            [ -e "$place" ] || step install "completions for $shell"
            continue
        fi
        "$target" completions "$shell" >"$scratch/completion" 2>/dev/null || continue
        cmp -s "$scratch/completion" "$place" && continue
        step install "completions for $shell"
        if ! mkdir -p "${place%/*}" || ! cp "$scratch/completion" "$place"; then
            step note "cannot write it: no space?"
        fi
    done
}

# ---------------------------------------------------------------------------------------------------------
# The service

# systemctl for the service's scope.
ctl() { if [ "$scope" = user ]; then systemctl --user "$@"; else systemctl "$@"; fi; }

# The file that defines the service: systemd's unit or the init script.
definition() { if [ "$init" = systemd ]; then echo "$unit"; else echo "$init_script"; fi; }

# Whether there is a service of the program in this place. A service of another one is left alone.
is_set_up() { grep -qE "^(ExecStart|program)=\"?$bin/peacrab(\"| |\$)" "$(definition)" 2>/dev/null; }

is_running() {
    is_set_up || return 1
    if [ "$init" = systemd ]; then ctl is-active --quiet peacrab.service
    else "$init_script" status >/dev/null 2>&1
    fi
}

# Prints the home folder of an account.
account_home() { awk -F: -v name="$1" '$1 == name { print $6 }' /etc/passwd; }

# The home folder of the service that is set up.
service_home() {
    if [ "$init" != systemd ]; then
        sed -n 's/^home=//p' "$init_script"
        return
    fi
    # A path with spaces is in quotation marks.
    named=$(sed -n 's/^ExecStart=.* --home \("[^"]*"\|[^ ]*\) .*gateway$/\1/p' "$unit" | tr -d '"' | sed 's/%%/%/g')
    if [ "$named" ]; then echo "$named"
    elif [ "$scope" = user ]; then echo "$HOME/.peacrab"
    elif grep -q '^StateDirectory=peacrab$' "$unit"; then echo "$system_home"
    else echo "$(account_home "$(sed -n 's/^User=//p' "$unit")")/.peacrab"
    fi
}

is_configured() { [ -f "$(service_home)/config.json" ]; }

# A stop that waits, then a start that does not: an answer can only come from the new program.
restart() {
    if [ "$init" = systemd ]; then
        ctl stop peacrab.service && ctl start --no-block peacrab.service
    else
        "$init_script" stop >/dev/null 2>&1 || true
        "$init_script" start >/dev/null 2>&1
    fi
}

# Whether the service reports that it is ready, and answers.
is_ready() {
    is_running && "$target" --home "$(service_home)" channels status >/dev/null 2>&1
}

wait_ready() {
    seconds=0
    until is_ready; do
        [ "$seconds" -lt "$ready_seconds" ] || return 1
        sleep 1
        seconds=$((seconds + 1))
    done
}

restart_and_wait() {
    step restart "the service, and wait until it is ready (at most $ready_seconds s)"
    [ "$dry_run" ] && return
    if restart && wait_ready; then
        step ready "Peacrab $new_version is running"
        return
    fi
    roll_back
}

roll_back() {
    step failed "Peacrab $new_version did not report that it is ready"
    [ -e "$target.old" ] || fail "There is no older program to go back to."
    step restore "$target ($old_version)"
    if ! duplicate "$target.old" "$staged" || ! mv -f "$staged" "$target"; then
        fail "It could not be put back. Run: ${sudo}mv $target.old $target"
    fi
    sync
    if restart && wait_ready; then
        fail "Peacrab $old_version is running again. See why in the log: $(log_command)"
    fi
    fail "Peacrab $old_version is back, but it is not ready either. See the log: $(log_command)"
}

log_command() {
    case $init:$scope in
    systemd:user) echo "journalctl --user -u peacrab" ;;
    systemd:*) echo "journalctl -u peacrab" ;;
    openwrt:*) echo "logread -e peacrab" ;;
    *) echo "grep peacrab /var/log/messages /var/log/syslog" ;;
    esac
}

# The terminal, for the questions of `peacrab service install`: standard input may be this script.
has_terminal() { (: </dev/tty) 2>/dev/null; }
with_terminal() {
    if [ -t 1 ] && has_terminal; then "$@" </dev/tty; else "$@" </dev/null; fi
}

set_up_service() {
    if [ "$init" = none ] || { [ "$scope" = user ] && [ "$init" != systemd ]; }; then
        step note "nothing here starts services; run it yourself with: peacrab gateway"
        return
    fi
    if [ "$init" != systemd ]; then
        set_up_init
        return
    fi
    set -- service install "--$scope"
    [ -z "$profile" ] || set -- "$@" --profile "$profile"
    [ -z "$adopted" ] || set -- "$@" --adopt "$adopted"
    step run "peacrab $*"
    [ "$dry_run" ] || with_terminal "$target" "$@" ||
        fail "Peacrab $new_version is installed, but its service could not be set up: see above."
    has_said_next=yes
}

set_up_init() {
    [ "$profile" != terminal ] || fail "--profile terminal is for systemd."
    text=$extras/init/peacrab.$init
    if [ -z "$extras" ] || [ ! -f "$text" ]; then
        step note "the init script for $init is in the tar.gz of the release; install that to get a service"
        return
    fi
    home=$(sed -n 's/^home=//p' "$text")
    make_user
    adopt
    if [ ! -d "$home" ]; then
        step create "$home"
        change mkdir -p "$home"
        change chown peacrab:peacrab "$home"
        change chmod 700 "$home"
    fi
    step install "$init_script"
    change put_init_script "$text"
    step enable "the service"
    change enable_init
    [ -f "$home/config.json" ] || return 0
    [ "$dry_run" ] || restart || fail "The service does not start. See the log: $(log_command)"
    [ "$dry_run" ] || wait_ready || fail "The service is not ready. See the log: $(log_command)"
    step ready "Peacrab is running"
}

put_init_script() {
    sed "s|^program=.*|program=$target|" "$1" >"$init_script.new"
    chmod 755 "$init_script.new"
    mv -f "$init_script.new" "$init_script"
}

make_user() {
    [ -z "$(account_home peacrab)" ] || return 0
    step create "the user peacrab"
    [ "$dry_run" ] && return
    shell=/bin/false
    if have useradd; then
        useradd --system --user-group --home-dir "$home" --shell "$shell" peacrab
    elif have adduser; then
        addgroup -S peacrab 2>/dev/null || true
        adduser -S -D -H -h "$home" -s "$shell" -G peacrab peacrab
    else
        add_user_by_hand
    fi
    [ "$(account_home peacrab)" ] || fail "Cannot create the user peacrab. Create it yourself, then try again."
}

# OpenWrt and small BusyBoxes have no program for it.
add_user_by_hand() {
    id=$(awk -F: '{ used[$3] = 1 } END { for (id = 999; used[id]; id--); print id }' /etc/passwd /etc/group)
    echo "peacrab:x:$id:" >>/etc/group
    [ ! -f /etc/shadow ] || echo 'peacrab:!:0:0:99999:7:::' >>/etc/shadow
    echo "peacrab:x:$id:$id:Peacrab:$home:$shell" >>/etc/passwd
}

# What `peacrab service install --adopt` does where systemd is.
adopt() {
    [ "$adopted" ] || return 0
    [ -f "$adopted/config.json" ] || fail "There is no configuration in $adopted: config.json is missing."
    [ -z "$(ls -A "$home" 2>/dev/null)" ] ||
        fail "$home is not empty, so nothing can be adopted. To replace it, move it away first: mv $home $home.old"
    ! "$program" --home "$adopted" channels status >/dev/null 2>&1 ||
        fail "A gateway is running in $adopted. Stop it first."
    old=$adopted.old
    number=0
    while [ -e "$old" ]; do number=$((number + 1)) old=$adopted.old$number; done
    step copy "$adopted to $home"
    step rename "$adopted to $old; delete it when the service works"
    change copy_home
}

# Beside its place first, so that it is there whole or not at all.
copy_home() {
    rm -rf "$home.new"
    mkdir -p "${home%/*}"
    cp -a "$adopted" "$home.new" || { rm -rf "$home.new"; fail "Cannot copy $adopted. Is there enough space?"; }
    rm -f "$home.new/control.sock" "$home.new/gateway.lock"
    chown -R -h peacrab:peacrab "$home.new"
    chmod 700 "$home.new"
    sync
    rmdir "$home" 2>/dev/null || true
    mv "$home.new" "$home"
    mv "$adopted" "$old"
}

enable_init() {
    case $init in
    openwrt)
        "$init_script" enable
        # What sysupgrade takes over into a new firmware.
        mkdir -p "${keep_list%/*}"
        printf '%s\n' "$target" "$home/" "$init_script" /etc/rc.d/S95peacrab /etc/rc.d/K10peacrab >"$keep_list"
        ;;
    openrc) rc-update -q add peacrab default ;;
    sysv)
        if have update-rc.d; then update-rc.d peacrab defaults >/dev/null
        elif have chkconfig; then chkconfig --add peacrab
        elif [ -d /etc/rc2.d ]; then
            for level in 2 3 4 5; do ln -sf ../init.d/peacrab "/etc/rc$level.d/S99peacrab"; done
            for level in 0 1 6; do ln -sf ../init.d/peacrab "/etc/rc$level.d/K01peacrab"; done
        else
            # BusyBox init runs them in this order (Buildroot's rcS).
            ln -sf peacrab /etc/init.d/S99peacrab
        fi
        ;;
    esac
}

disable_init() {
    case $init in
    openwrt)
        "$init_script" disable
        rm -f "$keep_list"
        ;;
    openrc) rc-update -q del peacrab default ;;
    sysv)
        if have chkconfig && ! have update-rc.d; then chkconfig --del peacrab; fi
        rm -f /etc/rc[0-6].d/[SK][0-9][0-9]peacrab /etc/init.d/S99peacrab
        ;;
    esac
}

manage_service() {
    if is_set_up; then
        if [ "$was_running" ] && [ "$is_new" ]; then
            restart_and_wait
        elif [ -z "$was_running" ] && is_configured; then
            step note "the service is set up, but it was not running; it is not started"
        fi
        [ -z "$adopted$profile" ] || set_up_service
    elif [ -s "$(definition)" ]; then # /dev/null is what a package leaves behind when it is removed.
        step note "the service uses another program, so it is left alone: $(definition)"
    elif [ -z "$no_service" ]; then
        set_up_service
    fi
}

# Such as a per-user service, or a conversation in a terminal.
note_old_processes() {
    [ -z "$dry_run" ] || return 0
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/exe" 2>/dev/null)" != "$target (deleted)" ] ||
            step note "process ${process#/proc/} still runs the old program; restart it"
    done
}

# ---------------------------------------------------------------------------------------------------------
# What to do

next_steps() {
    [ -z "$dry_run" ] || { say ""; say "This was a dry run: nothing has been changed."; return; }
    is_set_up || [ "$is_new" ] || return 0
    if ! is_set_up; then
        printf '\nNext:\n  peacrab onboard    connect a model and a bot\n  peacrab agent      chat with the agent\n'
        return
    fi
    ! is_configured || return 0
    case $init:$scope in
    systemd:user) start="systemctl --user start peacrab" ;;
    systemd:*) start="${sudo}systemctl start peacrab" ;;
    *) start="$sudo$init_script start" ;;
    esac
    # `peacrab service install` has just said the same.
    [ "$has_said_next" ] || printf '\nNext:\n  %s\n  %s\n' "${sudo}peacrab onboard" "$start"
    cat <<NEXT

After that, write to your bot. It answers with the command that gives you access:
  ${sudo}peacrab channels pair CODE
NEXT
}

install_peacrab() {
    check_owner
    check_root
    arch=$(architecture)
    was_running=
    ! is_running || was_running=yes
    obtain
    put_program
    manage_service
    note_old_processes
    next_steps
}

confirm_purge() {
    [ "$purge" ] && [ -z "$yes" ] && [ -z "$dry_run" ] || return 0
    has_terminal || fail "There is no terminal to ask on. To delete $1 unasked, add --yes."
    printf 'Delete %s with its configuration, conversations and workspace? [y/N] ' "$1" >/dev/tty
    read -r answer </dev/tty || answer=
    case $answer in [yY]*) ;; *) fail "Nothing was removed." ;; esac
}

remove() {
    [ -e "$1" ] || [ -L "$1" ] || return 0
    step remove "$1"
    change rm -rf -- "$1"
}

uninstall_service() {
    is_set_up || return 0
    if [ "$init" = systemd ]; then
        step run "peacrab service uninstall --$scope"
        if [ -x "$target" ]; then
            change "$target" service uninstall "--$scope" </dev/null ||
                fail "The service could not be removed: see above. The program stays."
        else
            change ctl disable --now peacrab.service
            remove "$unit"
            if [ -e "${unit%.service}-update.path" ]; then
                change ctl disable --now peacrab-update.path
                remove "${unit%.service}-update.path"
                remove "${unit%.service}-update.service"
            fi
        fi
        return
    fi
    step stop "the service"
    change "$init_script" stop >/dev/null 2>&1 || true
    change disable_init >/dev/null 2>&1 || true
    remove "$init_script"
}

uninstall_peacrab() {
    target=$bin/peacrab
    # A copy beside a package can be removed. The data is that of the package's service.
    if [ "$purge" ] || [ ! -e "$target" ] || [ "$bin" = /usr/bin ]; then check_owner; fi
    check_root
    home=$default_home
    if is_set_up; then home=$(service_home); fi
    if ! is_set_up && [ ! -e "$target" ] && { [ -z "$purge" ] || [ ! -e "$home" ]; }; then
        say "Peacrab is not installed in $bin."
        return
    fi
    [ ! -e "$home" ] || confirm_purge "$home"
    uninstall_service
    remove "$target"
    remove "$target.old"
    if [ -e "$share/man/man1/peacrab.1" ]; then
        step remove "the manual"
        change rm -f "$share"/man/man1/peacrab.1 "$share"/man/man1/peacrab-*.1
    fi
    for shell in bash zsh fish; do remove "$(completion_of "$shell")"; done
    if [ "$purge" ]; then
        remove "$home"
        if [ "$scope" = system ] && [ "$(account_home peacrab)" ]; then
            step remove "the user peacrab"
            change remove_user
        fi
    elif [ -e "$home" ]; then
        step keep "$home with your configuration, conversations and workspace"
    fi
    [ -z "$dry_run" ] || next_steps
}

remove_user() {
    if have userdel; then userdel peacrab
    elif have deluser; then deluser peacrab
    else
        for list in /etc/passwd /etc/group /etc/shadow; do
            [ ! -f "$list" ] || sed -i '/^peacrab:/d' "$list"
        done
    fi
}

set_places() {
    init=$(find_init)
    default_home=$system_home
    prefix_named=$prefix
    sudo=
    if [ "$scope" = system ] && have sudo; then sudo="sudo "; fi
    if [ "$scope" = user ]; then
        [ "${HOME:-}" ] || fail "HOME is not set. Set it to your home folder."
        [ "$(id -u)" != 0 ] || [ -z "${SUDO_USER:-}" ] || misused "--user is for your own account: run it without sudo."
        prefix=${prefix:-$HOME/.local}
        unit=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user/peacrab.service
        default_home=$HOME/.peacrab
        [ "$init" = systemd ] || init=none
    elif [ "$init" = openwrt ]; then
        # /usr/local is not in OpenWrt's PATH, and /var is lost with a restart.
        prefix=${prefix:-/usr}
        default_home=/srv/peacrab
    fi
    prefix=${prefix:-/usr/local}
    case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
    bin=${prefix%/}/bin
    share=${prefix%/}/share
    case $init:$bin in
    systemd:* | none:*) ;;
    *[!A-Za-z0-9/._:-]*) misused "--prefix $prefix: an init script allows only letters, digits and / . _ - there" ;;
    esac
}

clean_up() {
    [ -z "$scratch" ] || rm -rf "$scratch"
    [ -z "$staged" ] || rm -f "$staged"
    [ -z "$locked" ] || rm -f "$locked"
}

main() {
    action=install scope=system from='' prefix='' adopted='' profile='' key=''
    no_service='' no_signature='' allow_older='' dry_run='' purge='' yes='' has_said_next=''
    scratch='' staged='' locked=''
    while [ $# -gt 0 ]; do
        case $1 in
        --from | --prefix | --adopt | --profile | --key)
            [ "${2:-}" ] || misused "$1 needs a value"
            case $1 in
            --from) from=$2 ;;
            --prefix) prefix=$2 ;;
            --adopt) adopted=${2%/} ;;
            --profile) profile=$2 ;;
            --key) key=$2 ;;
            esac
            shift
            ;;
        --user) scope=user ;;
        --no-service) no_service=yes ;;
        --no-signature) no_signature=yes ;;
        --allow-older) allow_older=yes ;;
        --dry-run) dry_run=yes ;;
        --uninstall) action=uninstall ;;
        --purge) purge=yes ;;
        --yes) yes=yes ;;
        --architecture) action=architecture ;; # for `make deploy`
        -h | --help) usage; exit ;;
        *) misused "unknown option: $1" ;;
        esac
        shift
    done
    [ "$action" = uninstall ] || [ -z "$purge" ] || misused "--purge needs --uninstall"
    # What is installed is for all users to read.
    umask 022
    trap clean_up EXIT
    trap 'exit 130' INT TERM HUP
    if [ "$action" = architecture ]; then
        architecture
        return
    fi
    set_places
    if [ "$action" = uninstall ]; then
        uninstall_peacrab
        return
    fi
    scratch=$(mktemp -d) || fail "Cannot create a folder for temporary files. Is there enough space?"
    install_peacrab
}

# On the last line, so that a script that was cut off in a download does nothing.
main "$@"
