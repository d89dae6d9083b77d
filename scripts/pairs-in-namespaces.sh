#!/usr/bin/env bash
# Measures N pairs of client and server on one machine, as in pattern 3 of docs/studies/alluxio.md. Each client has its
# own network namespace. The servers are a redirecting cluster of six, in a further namespace. A bridge connects the
# namespaces. The numbers are medians of the repeats.
#
#   scripts/pairs-in-namespaces.sh [PLIMSOLL [REPEATS]]
#
# It needs root, iproute2, util-linux and jq. Processes and namespaces end with the script, even if it is killed.
set -euo pipefail
readonly SERVERS=6 CONCURRENCY=32 TIME=3s WARMUP=500ms

if [[ ${INSIDE:-} != yes ]]; then
    program=$(realpath "${1:-target/release/plimsoll}")
    directory=$(mktemp -d)
    trap 'rm -rf "$directory"' EXIT
    export INSIDE=yes
    setpriv --pdeathsig KILL unshare --net --pid --fork --kill-child --mount-proc -- \
        "$0" "$program" "${2:-3}" "$directory"
    exit
fi

readonly program=$1 repeats=$2 directory=$3
cd "$directory"
export XDG_STATE_HOME=$directory/state

# Makes a namespace with an address, and writes the ID of its process to a file.
connect() {
    local name=$1 address=$2 process
    unshare --net sleep infinity &
    process=$!
    while [[ $(readlink "/proc/$process/ns/net") == "$(readlink /proc/self/ns/net)" ]]; do sleep 0.01; done
    ip link add "$name" type veth peer name eth0 netns "$process"
    ip link set "$name" master bridge0 up
    nsenter "--net=/proc/$process/ns/net" ip -batch - <<<"link set lo up
address add $address/24 dev eth0
link set eth0 up"
    echo "$process" >"$name"
}

ip link set lo up
ip link add bridge0 type bridge
ip link set bridge0 up
ip address add 10.77.0.1/24 dev bridge0
connect servers 10.77.0.100
for ((number = 1; number <= SERVERS; number++)); do connect "client-$number" "10.77.0.$((10 + number))"; done

# A command that connects to a host as ssh does. Its last two words are the host and the command for the host.
cat >connect <<EOS
#!/bin/sh
while [ "\$1" != -- ]; do shift; done
export XDG_STATE_HOME=$directory/state-\$2
exec nsenter --net=/proc/\$(cat $directory/\$2)/ns/net sh -c "\$3"
EOS
chmod +x connect

nsenter "--net=/proc/$(<servers)/ns/net" "$program" serve --listen 10.77.0.100:8080 --cluster $SERVERS --list 300 \
    --list-size 1MiB --names names >served &
until grep -qs "server $((SERVERS - 1)): serving" served; do sleep 0.05; done
sleep 0.2
"$program" owners http://10.77.0.100:8080/blackhole --names names --out owners >/dev/null

for pairs in 1 2 4 6; do
    readarray -t urls < <(head -qn 1 owners/*.urls | head -n $pairs)
    for ((repeat = 1; repeat <= repeats; repeat++)); do
        # With few cores, the threads of all clients do not start within the usual 5 ms. A result other than PASS is
        # shown.
        "$program" get -c $((CONCURRENCY * pairs)) -d $TIME --warmup $WARMUP "${urls[@]}" --pair --scaling --quiet \
            --start-spread 20ms --hosts "client-{1...$pairs}" --ssh "$directory/connect" --agent-program "$program" \
            --json --out "run-$pairs-$repeat" 2>>errors || true
    done | jq -rs --argjson pairs $pairs --argjson repeats "$repeats" '
        def median: sort | .[(length - 1) / 2 | floor];
        def rounded: . * 100 | round / 100;
        if length < $repeats then error("a run failed") else . end
        | (map(.bytes.goodput_bytes_per_second) | median / 1e9) as $goodput
        | "\($pairs) pairs: \($goodput | rounded) GB/s, \($goodput / $pairs | rounded) GB/s for each pair, " +
            "scaling \(map(.fleet.scaling) | median | rounded); results: \(map(.result.word) | join(", "))"' ||
        { cat errors >&2; exit 1; }
done
