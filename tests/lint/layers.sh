#!/bin/bash
# The includes that each folder may have, and the libraries. A folder sees only folders below it
# (folders.sh); drivers never see the database, rest no model, manager and api never each other,
# compute only common. Each folder has its logger.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

declare -A only_in=(
    [microhttpd.h]="http" [gnutls/gnutls.h]="http" [curl/curl.h]="http" [ini.h]="config"
    [yaml.h]="policy json" [sqlite3.h]="db" [libpq-fe.h]="db" [libvirt/libvirt.h]="compute"
    [libvirt/virterror.h]="compute" [libxml/parser.h]="compute" [libxml/xpath.h]="compute"
    [amqp.h]="rpc" [nghttp2/nghttp2.h]="grpc"
)
status=0
wrong() {
    echo "$*"
    status=1
}

for folder in "${folders[@]}"; do
    while IFS=: read -r file line text; do
        included=${text#*\"} included=${included%%\"*} from=${included%/*}
        until [[ -v may[$from] || $from != */* ]]; do from=${from%/*}; done
        [[ $included == config.h || " ${may[$folder]} " == *" $from "* ]] ||
            wrong "$file:$line: $folder may not include $included"
    done < <(grep -rnE --include='*.[ch]' '^#include "' "$folder")
    grep -qE "\"($folder|${folder%%/*})/?\"[,;]" common/log.c ||
        wrong "common/log.c: there is no logger of $folder"
done
for header in "${!only_in[@]}"; do
    while IFS=: read -r file line text; do
        [[ " ${only_in[$header]} " == *" ${file%%/*} "* ]] ||
            wrong "$file:$line: only ${only_in[$header]} uses <$header>"
    done < <(grep -rnF --include='*.[ch]' "#include <$header>" "${folders[@]}")
done
for file in */local.mk; do
    [[ " ${folders[*]}/" =~ " ${file%/*}"[\ /] || $file =~ ^(tests|bench|etc)/ ]] ||
        wrong "tests/lint/folders.sh: ${file%%/*} is not in it"
done
exit "$status"
