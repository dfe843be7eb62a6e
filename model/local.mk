libscoria_a_SOURCES += \
	model/adopt.c model/adopt.h \
	model/assist.c model/assist.h \
	model/conflict.c model/conflict.h \
	model/host_rename.c model/host_rename.h \
	model/manage_reference.c model/manage_reference.h \
	model/notification.c model/notification.h \
	model/operations.c model/operations.def model/operations.h \
	model/unwanted_object.c model/unwanted_object.h \
	model/attachment/attach.c model/attachment/attach.h \
	model/attachment/attach_status.c model/attachment/attach_status.h \
	model/attachment/attachment.c model/attachment/attachment.h \
	model/attachment/connect.c model/attachment/connect.h \
	model/attachment/connection.c model/attachment/connection.h \
	model/attachment/disconnect.c model/attachment/disconnect.h \
	model/group/copy.c model/group/copy.h \
	model/group/create.c model/group/create.h \
	model/group/delete.c model/group/delete.h \
	model/group/end.c model/group/end.h \
	model/group/group.c model/group/group.h \
	model/group/member.c model/group/member.h \
	model/group/snapshot.c model/group/snapshot.h \
	model/group/snapshot_create.c model/group/snapshot_create.h \
	model/group/snapshot_delete.c model/group/snapshot_delete.h \
	model/group/snapshot_part.c model/group/snapshot_part.h \
	model/group/snapshot_reset.c \
	model/group/snapshot_status.c model/group/snapshot_status.def model/group/snapshot_status.h \
	model/group/snapshot_turn.c model/group/snapshot_turn.h \
	model/group/status.c model/group/status.def model/group/status.h \
	model/group/update.c model/group/update.h \
	model/scheduler/capability.c model/scheduler/capability.h \
	model/scheduler/placement.c model/scheduler/placement.h \
	model/scheduler/placement_hint.c model/scheduler/placement_hint.private.h \
	model/scheduler/placement_query.c model/scheduler/placement_query.private.h \
	model/scheduler/pool.c model/scheduler/pool.h \
	model/snapshot/assist.c model/snapshot/assist.h \
	model/snapshot/create.c model/snapshot/create.h \
	model/snapshot/delete.c model/snapshot/delete.h \
	model/snapshot/manage.c model/snapshot/manage.h \
	model/snapshot/reset.c model/snapshot/reset.h \
	model/snapshot/snapshot.c model/snapshot/snapshot.h \
	model/snapshot/status.c model/snapshot/status.def model/snapshot/status.h \
	model/snapshot/update.c \
	model/type/access.c model/type/access.h \
	model/type/default_type.c model/type/default_type.h \
	model/type/encryption.c model/type/encryption.h \
	model/type/group_type.c model/type/group_type.h \
	model/type/qos.c model/type/qos.h \
	model/type/qos_front_end.c model/type/qos_front_end.h \
	model/type/qos_limits.c model/type/qos_limits.h \
	model/type/qos_scale.c model/type/qos_scale.h \
	model/type/reserved_type.h \
	model/type/type.c model/type/type.h \
	model/volume/create.c model/volume/create.h \
	model/volume/delete.c model/volume/delete.h \
	model/volume/extend.c model/volume/extend.h \
	model/volume/image.c model/volume/image.h \
	model/volume/image_cache.c model/volume/image_cache.h \
	model/volume/image_cache_entry.c model/volume/image_cache_entry.h \
	model/volume/image_signature.c model/volume/image_signature.h \
	model/volume/image_volume.c model/volume/image_volume.h \
	model/volume/insert.c model/volume/insert.h \
	model/volume/manage.c model/volume/manage.h \
	model/volume/manageable.c model/volume/manageable.h \
	model/volume/notify.c model/volume/notify.h \
	model/volume/quota.c model/volume/quota.h \
	model/volume/reclaim.c model/volume/reclaim.h \
	model/volume/reclaim_trim.c model/volume/reclaim_trim.h \
	model/volume/reimage.c model/volume/reimage.h \
	model/volume/reset.c model/volume/reset.h \
	model/volume/retype.c model/volume/retype.h \
	model/volume/revert.c model/volume/revert.h \
	model/volume/source.c model/volume/source.h \
	model/volume/status.c model/volume/status.def model/volume/status.h \
	model/volume/summary.c model/volume/summary.h \
	model/volume/transfer.c model/volume/transfer.h \
	model/volume/unmanage.c \
	model/volume/update.c \
	model/volume/upload.c model/volume/upload.h \
	model/volume/volume.c model/volume/volume.h

if HAVE_CHECK
slow_tests += tests/unit/model/test_conflict
check_PROGRAMS += \
	tests/unit/model/test_host_rename \
	tests/unit/model/test_notification \
	tests/unit/model/test_operation_queue \
	tests/unit/model/test_retry \
	tests/unit/model/test_status \
	tests/unit/model/attachment/test_attach \
	tests/unit/model/attachment/test_connection \
	tests/unit/model/group/test_snapshot_moment \
	tests/unit/model/group/test_snapshot_parts \
	tests/unit/model/group/test_snapshot_queue \
	tests/unit/model/group/test_snapshots \
	tests/unit/model/scheduler/test_capability \
	tests/unit/model/scheduler/test_placement \
	tests/unit/model/scheduler/test_pool \
	tests/unit/model/snapshot/test_assist \
	tests/unit/model/snapshot/test_manage \
	tests/unit/model/snapshot/test_resets \
	tests/unit/model/type/test_qos_front_end \
	tests/unit/model/type/test_qos_limits \
	tests/unit/model/type/test_type \
	tests/unit/model/volume/test_copies \
	tests/unit/model/volume/test_delete \
	tests/unit/model/volume/test_extend \
	tests/unit/model/volume/test_extend_completion \
	tests/unit/model/volume/test_manage \
	tests/unit/model/volume/test_quota \
	tests/unit/model/volume/test_reclaim \
	tests/unit/model/volume/test_reclaim_attach \
	tests/unit/model/volume/test_reclaim_trim \
	tests/unit/model/volume/test_reset \
	tests/unit/model/volume/test_retype \
	tests/unit/model/volume/test_volume
endif
