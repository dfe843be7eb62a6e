/*
 * Volumes on PowerStore's NFS: as nfs.c, and raw volumes may be shared by instances.
 */
#include "drivers/file/nfs.h"

static const struct remotefs_kind kind = {
    .driver = &powerstore_nfs_driver,
    NFS_KIND,
};

static int powerstore_nfs_open(const struct driver_backend *backend, void **ret_handle,
                               struct error *err) {
    return remotefs_open(&kind, backend, ret_handle, err);
}

const struct driver powerstore_nfs_driver = {
    .name = "powerstore_nfs",
    .class_path = "cinder.volume.drivers.dell_emc.powerstore.nfs.PowerStoreNFSDriver",
    .vendor_name = "Dell EMC",
    .storage_protocol = "nfs",
    .properties = DRIVER_MULTIATTACH | REMOTEFS_PROPERTIES,
    .options = nfs_options,
    .open = powerstore_nfs_open,
    REMOTEFS_CALLS,
};
