csi_protos = csi/proto/csi.proto csi/proto/identity.proto csi/proto/reclaimspace.proto \
	csi/proto/volumegroup.proto
EXTRA_DIST += $(csi_protos)

libscoria_a_SOURCES += csi/driver.h csi/options.c

if HAVE_CSI
libscoria_a_SOURCES += \
	csi/addons_identity.c \
	csi/config.c csi/config.private.h \
	csi/config_health.c \
	csi/driver.c csi/driver.private.h \
	csi/health.c csi/health.private.h \
	csi/identity.c \
	csi/topology.c csi/topology.private.h

libscoria_a_SOURCES += \
	csi/controller/attached.c \
	csi/controller/common.c \
	csi/controller/config_class.c \
	csi/controller/config_clone.c \
	csi/controller/config_create.c \
	csi/controller/config_limits.c \
	csi/controller/config_plain.c \
	csi/controller/config_reclaim.c \
	csi/controller/config_remove.c \
	csi/controller/config_snapshots.c \
	csi/controller/config_use.c \
	csi/controller/configs.c csi/controller/configs.private.h \
	csi/controller/controller.c csi/controller/controller.private.h \
	csi/controller/create.c \
	csi/controller/expand.c \
	csi/controller/group_change.c \
	csi/controller/group_create.c \
	csi/controller/group_snapshots.c \
	csi/controller/groups.private.h \
	csi/controller/modify.c \
	csi/controller/publish.c \
	csi/controller/reclaim.c \
	csi/controller/request.c \
	csi/controller/volume_limit.c \
	csi/controller/snapshots.c \
	csi/controller/objects.c \
	csi/controller/validate.c \
	csi/controller/volume_groups.c \
	csi/controller/volumes.c

libscoria_a_SOURCES += \
	csi/node/backing.c csi/node/backing.h \
	csi/node/filesystem.c csi/node/filesystem.h \
	csi/node/pod_limiter.c csi/node/pod_limiter.h \
	csi/node/image.c csi/node/image.h \
	csi/node/image_check.c \
	csi/node/image_parse.c \
	csi/node/kubelet_path.c csi/node/kubelet_path.h \
	csi/node/label.h \
	csi/node/mount.c csi/node/mount.h \
	csi/node/mount_flags.c csi/node/mount_flags.h \
	csi/node/mount_table.c csi/node/mount_table.h \
	csi/node/node.h \
	csi/node/publish.c \
	csi/node/reclaim.c \
	csi/node/remount.c \
	csi/node/replay.c \
	csi/node/service.c \
	csi/node/settings.c csi/node/settings.private.h \
	csi/node/stage.c \
	csi/node/start.c \
	csi/node/throttle.c csi/node/throttle.h \
	csi/node/volume_lock.c csi/node/volume_lock.h \
	csi/node/usage.c \
	csi/node/volume.c csi/node/volume.private.h \
	csi/node/wipe.c csi/node/wipe.h

# What protoc-c writes is compiled as it is.
noinst_LIBRARIES += libcsiproto.a
csi_sources = $(csi_protos:.proto=.pb-c.c)
csi_headers = $(csi_protos:.proto=.pb-c.h)
libcsiproto_a_SOURCES =
libcsiproto_a_CFLAGS = $(AM_CFLAGS) -w
nodist_libcsiproto_a_SOURCES = $(csi_sources)
BUILT_SOURCES += $(csi_headers) csi/proto.h
CLEANFILES += $(csi_sources) $(csi_headers) csi/proto.h

.proto.pb-c.c:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(PROTOC_C) -I$(top_srcdir) --c_out=$(top_builddir) $<
$(csi_headers): $(csi_sources)
# The messages of all of them: the list above is the only one.
csi/proto.h: $(csi_headers)
	$(AM_V_GEN)for header in $(csi_headers); do echo "#include \"$$header\""; done >$@
$(libscoria_a_OBJECTS): | csi/proto.h

if HAVE_CHECK
slow_tests += tests/unit/csi/controller/test_group_walk tests/unit/csi/controller/test_volume_walk \
	tests/unit/csi/node/test_crash tests/unit/csi/node/test_failure \
	tests/unit/csi/node/test_filesystem tests/unit/csi/node/test_meanwhile \
	tests/unit/csi/node/test_publish tests/unit/csi/node/test_stage tests/unit/csi/node/test_wipe
check_PROGRAMS += \
	tests/unit/csi/test_identity \
	tests/unit/csi/test_topology \
	tests/unit/csi/controller/test_config_class \
	tests/unit/csi/controller/test_config_clones \
	tests/unit/csi/controller/test_config_snapshots \
	tests/unit/csi/controller/test_controller \
	tests/unit/csi/controller/test_delete \
	tests/unit/csi/controller/test_list \
	tests/unit/csi/controller/test_reclaim \
	tests/unit/csi/controller/test_refusal \
	tests/unit/csi/node/test_async_call \
	tests/unit/csi/node/test_pod_limiter \
	tests/unit/csi/node/test_image \
	tests/unit/csi/node/test_kubelet_path \
	tests/unit/csi/node/test_loop \
	tests/unit/csi/node/test_mount_flags \
	tests/unit/csi/node/test_mount_table \
	tests/unit/csi/node/test_capacity
endif
endif
EXTRA_DIST += tests/unit/csi/driver_test.h tests/unit/csi/controller/walk.h \
	tests/unit/csi/node/node_test.h \
	tests/unit/csi/node/scene.h tests/unit/csi/node/shown_file.h \
	tests/unit/csi/node/storage.h
