#!/bin/bash
# Who may include whom, and which folder may know which library. A folder sees only folders to its
# left; drivers never see the database, manager and api never each other, compute only common.
set -uo pipefail

declare -A may=(
    [common]="common"
    [policy]="common policy"
    [db]="common db"
    [rpc]="common policy db rpc"
    [drivers]="common drivers"
    [volume]="common policy db rpc drivers volume"
    [manager]="common policy db rpc drivers volume manager"
    [api]="common policy db rpc drivers volume api"
    [compute]="common compute"
    [cmd]="common policy db rpc drivers volume manager api compute cmd"
)
declare -A only_in=(
    [microhttpd.h]="common" [gnutls/gnutls.h]="common" [curl/curl.h]="common" [ini.h]="common"
    [yaml.h]="policy" [sqlite3.h]="db" [libpq-fe.h]="db" [libvirt/libvirt.h]="compute"
    [libvirt/virterror.h]="compute" [libxml/parser.h]="compute" [libxml/xpath.h]="compute"
    [amqp.h]="rpc"
)
status=0

for folder in "${!may[@]}"; do
    while IFS=: read -r file line text; do
        included=$(sed -E 's/.*#include "([^"]*)".*/\1/' <<<"$text")
        seen=${included%%/*}
        [[ $included == config.h || " ${may[$folder]} " == *" $seen "* ]] && continue
        echo "$file:$line: $folder may not include $included"
        status=1
    done < <(grep -nE '^#include "' "$folder"/*.[ch])
done
for header in "${!only_in[@]}"; do
    while IFS=: read -r file line text; do
        [[ $file == "${only_in[$header]}"/* ]] && continue
        echo "$file:$line: only ${only_in[$header]} uses <$header>"
        status=1
    done < <(grep -rnF --include='*.[ch]' "#include <$header>" "${!may[@]}")
done
exit "$status"
