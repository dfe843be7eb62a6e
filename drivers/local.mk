libscoria_a_SOURCES += \
	drivers/driver.c drivers/driver.def drivers/driver.h \
	drivers/driver_call.c drivers/driver_call.h \
	drivers/driver_pool.h \
	drivers/fault.c drivers/fault.h \
	drivers/fault_plan.c drivers/fault_plan.h \
	drivers/file/chain.c drivers/file/chain.h \
	drivers/file/chain_assist.c drivers/file/chain_assist.h drivers/file/chain_assist.private.h \
	drivers/file/chain_assist_create.c \
	drivers/file/chain_assist_delete.c \
	drivers/file/chain_merge.c drivers/file/chain_merge.h \
	drivers/file/chain_snapshot.c drivers/file/chain_snapshot.h \
	drivers/file/directory.c drivers/file/directory.h \
	drivers/file/directory_claim.c drivers/file/directory_claim.h \
	drivers/file/directory_settings.c drivers/file/directory_settings.h \
	drivers/file/draft.c drivers/file/draft.h \
	drivers/file/file.c \
	drivers/file/file_store.c drivers/file/file_store.h \
	drivers/file/file_store_manage.c \
	drivers/file/file_store_snapshot.c \
	drivers/file/image.c drivers/file/image.h \
	drivers/file/image_copy.c drivers/file/image_copy.h \
	drivers/file/image_data.c drivers/file/image_data.h \
	drivers/file/image_punch.c drivers/file/image_punch.h \
	drivers/file/image_source.c drivers/file/image_source.h \
	drivers/file/metadata_order.c drivers/file/metadata_order.h \
	drivers/file/mount.c drivers/file/mount.h \
	drivers/file/mounted_share.c drivers/file/mounted_share.h \
	drivers/file/netapp_nfs.c \
	drivers/file/nfs.c drivers/file/nfs.h \
	drivers/file/powerstore_nfs.c \
	drivers/file/qemu_img.c drivers/file/qemu_img.h \
	drivers/file/qcow2_use.c drivers/file/qcow2_use.h \
	drivers/file/quobyte.c \
	drivers/file/removal.c drivers/file/removal.h \
	drivers/file/shared_flush.c drivers/file/shared_flush.h \
	drivers/file/remotefs.c drivers/file/remotefs.h drivers/file/remotefs.private.h \
	drivers/file/remotefs_volume.c \
	drivers/file/shares.c drivers/file/shares.h \
	drivers/file/snapshot_file.c drivers/file/snapshot_file.h \
	drivers/file/unlink.c drivers/file/unlink.h \
	drivers/file/volume_file.c drivers/file/volume_file.h \
	drivers/file/volume_file_clone.c \
	drivers/file/volume_file_create.c \
	drivers/file/volume_file_extend.c \
	drivers/file/volume_file_inspect.c \
	drivers/file/existing_file.c \
	drivers/file/existing_file.h \
	drivers/file/snapshot_file_manage.c \
	drivers/file/snapshot_file_manage.h \
	drivers/file/volume_file_manage.c \
	drivers/file/volume_file_reclaim.c \
	drivers/file/volume_image.c drivers/file/volume_image.h \
	drivers/file/volume_name.c drivers/file/volume_name.h \
	drivers/memory.c drivers/memory.h drivers/memory.private.h \
	drivers/memory_data.c \
	drivers/memory_driver.c \
	drivers/memory_manage.c \
	drivers/memory_snapshot.c
EXTRA_DIST += tests/contract/driver_guest.h tests/contract/driver_subject.h \
	tests/fault/calls.h tests/fault/place.h \
	tests/unit/drivers/driver_test.h tests/unit/drivers/file/chain_place.h tests/unit/drivers/xfs.h

if HAVE_CHECK
slow_tests += \
	tests/contract/test_driver_contract \
	tests/contract/test_driver_features \
	tests/contract/test_driver_guest \
	tests/contract/test_driver_snapshots \
	tests/fault/test_chain_calls \
	tests/fault/test_late_calls \
	tests/fault/test_reclaim_calls \
	tests/fault/test_snapshot_calls \
	tests/unit/drivers/file/test_reclaim
check_PROGRAMS += \
	tests/fault/test_driver_calls \
	tests/unit/drivers/file/test_chain \
	tests/unit/drivers/file/test_chain_busy \
	tests/unit/drivers/file/test_draft \
	tests/unit/drivers/file/test_flush \
	tests/unit/drivers/file/test_removal \
	tests/unit/drivers/file/test_shared_flush \
	tests/unit/drivers/file/test_chain_assist \
	tests/unit/drivers/file/test_chain_merge \
	tests/unit/drivers/file/test_directory \
	tests/unit/drivers/file/test_file \
	tests/unit/drivers/file/test_image \
	tests/unit/drivers/file/test_image_data \
	tests/unit/drivers/file/test_metadata_order \
	tests/unit/drivers/file/test_qcow2_use \
	tests/unit/drivers/file/test_inspect \
	tests/unit/drivers/file/test_manage \
	tests/unit/drivers/file/test_manage_snapshots \
	tests/unit/drivers/file/test_mount \
	tests/unit/drivers/file/test_nfs \
	tests/unit/drivers/file/test_qcow2_check \
	tests/unit/drivers/file/test_qemu_img \
	tests/unit/drivers/file/test_quobyte \
	tests/unit/drivers/file/test_remotefs \
	tests/unit/drivers/file/test_shares \
	tests/unit/drivers/file/test_snapshot_file \
	tests/unit/drivers/file/test_volume_file \
	tests/unit/drivers/test_driver \
	tests/unit/drivers/test_fault \
	tests/unit/drivers/test_memory
endif
