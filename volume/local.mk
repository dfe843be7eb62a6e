libscoria_a_SOURCES += \
	volume/assist.c volume/assist.h \
	volume/attach.c volume/attach.h \
	volume/attach_status.c volume/attach_status.h \
	volume/attachment.c volume/attachment.h \
	volume/capability.c volume/capability.h \
	volume/conflict.c volume/conflict.h \
	volume/connection.c volume/connection.h \
	volume/connector.c \
	volume/connector.private.h \
	volume/connect.c volume/connect.h \
	volume/create.c volume/create.h \
	volume/default_type.c volume/default_type.h \
	volume/disconnect.c volume/disconnect.h \
	volume/delete.c volume/delete.h \
	volume/extend.c volume/extend.h \
	volume/group.c volume/group.h \
	volume/group_copy.c volume/group_copy.h \
	volume/group_create.c volume/group_create.h \
	volume/group_delete.c volume/group_delete.h \
	volume/group_end.c volume/group_end.h \
	volume/group_member.c volume/group_member.h \
	volume/group_snapshot.c volume/group_snapshot.h \
	volume/group_snapshot_create.c volume/group_snapshot_create.h \
	volume/group_snapshot_delete.c volume/group_snapshot_delete.h \
	volume/group_snapshot_part.c volume/group_snapshot_part.h \
	volume/group_snapshot_turn.c volume/group_snapshot_turn.h \
	volume/group_snapshot_reset.c \
	volume/group_snapshot_status.c volume/group_snapshot_status.def \
	volume/group_snapshot_status.h \
	volume/group_status.c volume/group_status.def volume/group_status.h \
	volume/group_type.c volume/group_type.h \
	volume/group_update.c volume/group_update.h \
	volume/host_rename.c volume/host_rename.h \
	volume/manage.c volume/manage.h \
	volume/manage_reference.c volume/manage_reference.h \
	volume/manageable.c volume/manageable.h \
	volume/notification.c volume/notification.h \
	volume/notify.c volume/notify.h \
	volume/operations.c volume/operations.def volume/operations.h \
	volume/placement.c volume/placement.h \
	volume/placement_hint.c \
	volume/placement_hint.private.h \
	volume/placement_query.c \
	volume/placement_query.private.h \
	volume/pool.c volume/pool.h \
	volume/qos.c volume/qos.h \
	volume/qos_front_end.c volume/qos_front_end.h \
	volume/qos_limits.c volume/qos_limits.h \
	volume/qos_scale.c volume/qos_scale.h \
	volume/reclaim.c volume/reclaim.h \
	volume/reclaim_trim.c volume/reclaim_trim.h \
	volume/reserved_type.h \
	volume/reset.c volume/reset.h \
	volume/retype.c volume/retype.h \
	volume/revert.c volume/revert.h \
	volume/snapshot.c volume/snapshot.h \
	volume/snapshot_assist.c volume/snapshot_assist.h \
	volume/snapshot_create.c volume/snapshot_create.h \
	volume/snapshot_delete.c volume/snapshot_delete.h \
	volume/snapshot_manage.c volume/snapshot_manage.h \
	volume/snapshot_reset.c volume/snapshot_reset.h \
	volume/snapshot_update.c \
	volume/snapshot_status.c volume/snapshot_status.def volume/snapshot_status.h \
	volume/source.c volume/source.h \
	volume/status.c volume/status.def volume/status.h \
	volume/summary.c volume/summary.h \
	volume/type.c volume/type.h \
	volume/type_access.c volume/type_access.h \
	volume/type_encryption.c volume/type_encryption.h \
	volume/unmanage.c \
	volume/update.c \
	volume/volume.c volume/volume.h \
	volume/volume_quota.c volume/volume_quota.h

if HAVE_CHECK
slow_tests += tests/unit/volume/test_conflict
check_PROGRAMS += \
	tests/unit/volume/test_attach \
	tests/unit/volume/test_capability \
	tests/unit/volume/test_connection \
	tests/unit/volume/test_copies \
	tests/unit/volume/test_delete \
	tests/unit/volume/test_extend \
	tests/unit/volume/test_extend_completion \
	tests/unit/volume/test_group_snapshot_moment \
	tests/unit/volume/test_group_snapshot_parts \
	tests/unit/volume/test_group_snapshot_queue \
	tests/unit/volume/test_group_snapshots \
	tests/unit/volume/test_host_rename \
	tests/unit/volume/test_manage \
	tests/unit/volume/test_manage_snapshots \
	tests/unit/volume/test_notification \
	tests/unit/volume/test_operation_queue \
	tests/unit/volume/test_placement \
	tests/unit/volume/test_pool \
	tests/unit/volume/test_qos_front_end \
	tests/unit/volume/test_qos_limits \
	tests/unit/volume/test_reclaim \
	tests/unit/volume/test_reclaim_attach \
	tests/unit/volume/test_reclaim_trim \
	tests/unit/volume/test_retry \
	tests/unit/volume/test_retype \
	tests/unit/volume/test_reset \
	tests/unit/volume/test_snapshot_assist \
	tests/unit/volume/test_snapshot_resets \
	tests/unit/volume/test_status \
	tests/unit/volume/test_type \
	tests/unit/volume/test_volume \
	tests/unit/volume/test_volume_quota
endif
