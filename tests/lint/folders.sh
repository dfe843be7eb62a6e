# shellcheck shell=bash
# The folders of the program from the bottom up, and for each the folders that it may include beside
# itself. To be sourced; every check takes its folders from here, with all that is below them.
folder_table='
common
json               common
config             common
http               common
policy             common config
identity           common json config http policy
client             common json config http policy identity
db                 common config
rpc                common json config policy db
data               common http
drivers            common json config data
replicated         common json config http identity client data drivers
replication/engine common json
operation          common json config policy db
model              common json config policy data db rpc drivers operation
declared           common json config policy db operation
manager/runtime    common json config policy client db rpc drivers operation model declared
manager/jobs       common json config policy client data db rpc drivers operation model declared manager/runtime
manager/check      common json config policy client db rpc drivers operation model declared manager/runtime
manager/import     common json config policy client db rpc drivers operation model declared manager/runtime
rest               common json config http policy identity db operation
api                common json config http policy identity db rpc drivers operation model declared rest
compute/hypervisor common json
compute/jobs       common json config http identity client compute/hypervisor
compute/agent      common json config http identity client compute/jobs compute/hypervisor
replication/node   common json config http identity client replication/engine
kubernetes         common json config http identity client
grpc               common http
csi                common json config http identity client grpc
cmd                common json config http policy identity client db rpc drivers replicated operation model declared manager/runtime manager/check manager/import rest api compute/hypervisor compute/agent kubernetes replication/node grpc csi
'
# Folders divided into rooms by subject, whose headers are seen as those of the folder are.
# shellcheck disable=SC2034 # headers.sh reads it
with_rooms=" model api "
declare -A may=()
folders=()
while read -r folder others; do
    [[ -n $folder ]] || continue
    folders+=("$folder")
    # shellcheck disable=SC2034 # layers.sh reads it
    may[$folder]="$folder $others"
done <<<"$folder_table"

# The files of the program, or of the folders named.
sources() {
    [[ $# -gt 0 ]] || set -- "${folders[@]}"
    find "$@" -name '*.[ch]' | sort
}
