csi_protos = csi/proto/csi.proto csi/proto/identity.proto csi/proto/reclaimspace.proto \
	csi/proto/volumegroup.proto
EXTRA_DIST += $(csi_protos)

libscoria_a_SOURCES += csi/driver.h csi/options.c

if HAVE_CSI
libscoria_a_SOURCES += \
	csi/addons_identity.c \
	csi/controller.c \
	csi/controller.private.h \
	csi/controller_common.c \
	csi/controller_config_class.c csi/controller_config_clone.c \
	csi/controller_config_create.c csi/controller_config_health.c \
	csi/controller_config_limits.c csi/controller_config_plain.c \
	csi/controller_config_snapshots.c csi/controller_config_use.c \
	csi/controller_configs.c csi/controller_configs.private.h \
	csi/controller_create.c \
	csi/controller_expand.c \
	csi/controller_group_create.c \
	csi/controller_group_snapshots.c \
	csi/controller_groups.private.h \
	csi/controller_modify.c \
	csi/controller_publish.c \
	csi/controller_reclaim.c \
	csi/controller_room.c \
	csi/controller_snapshots.c \
	csi/controller_things.c \
	csi/controller_validate.c \
	csi/controller_volume_groups.c \
	csi/controller_volumes.c \
	csi/driver.c csi/driver.private.h \
	csi/health.c csi/health.private.h \
	csi/identity.c \
	csi/topology.c csi/topology.private.h \
	csi/node.c

# What protoc-c writes is compiled as it is.
noinst_LIBRARIES += libcsiproto.a
csi_sources = $(csi_protos:.proto=.pb-c.c)
csi_headers = $(csi_protos:.proto=.pb-c.h)
libcsiproto_a_SOURCES = csi/proto/proto.h
libcsiproto_a_CFLAGS = $(AM_CFLAGS) -w
nodist_libcsiproto_a_SOURCES = csi/proto/csi.pb-c.c csi/proto/identity.pb-c.c \
	csi/proto/reclaimspace.pb-c.c csi/proto/volumegroup.pb-c.c
BUILT_SOURCES += $(csi_headers)
CLEANFILES += $(csi_sources) $(csi_headers)

.proto.pb-c.c:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(PROTOC_C) -I$(top_srcdir) --c_out=$(top_builddir) $<
csi/proto/csi.pb-c.h: csi/proto/csi.pb-c.c
csi/proto/identity.pb-c.h: csi/proto/identity.pb-c.c
csi/proto/reclaimspace.pb-c.h: csi/proto/reclaimspace.pb-c.c
csi/proto/volumegroup.pb-c.h: csi/proto/volumegroup.pb-c.c

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/csi/test_config_class \
	tests/unit/csi/test_config_clones \
	tests/unit/csi/test_config_snapshots \
	tests/unit/csi/test_controller \
	tests/unit/csi/test_controller_delete \
	tests/unit/csi/test_controller_list \
	tests/unit/csi/test_controller_reclaim \
	tests/unit/csi/test_identity
tests_unit_csi_test_config_class_SOURCES = tests/unit/csi/driver_test.h \
	tests/unit/csi/test_config_class.c
tests_unit_csi_test_config_clones_SOURCES = tests/unit/csi/driver_test.h \
	tests/unit/csi/test_config_clones.c
tests_unit_csi_test_config_snapshots_SOURCES = tests/unit/csi/driver_test.h \
	tests/unit/csi/test_config_snapshots.c
tests_unit_csi_test_controller_SOURCES = tests/unit/csi/driver_test.h \
	tests/unit/csi/test_controller.c
tests_unit_csi_test_controller_delete_SOURCES = tests/unit/csi/driver_test.h \
	tests/unit/csi/test_controller_delete.c
tests_unit_csi_test_controller_reclaim_SOURCES = tests/unit/csi/driver_test.h \
	tests/unit/csi/test_controller_reclaim.c
tests_unit_csi_test_identity_SOURCES = tests/unit/csi/driver_test.h tests/unit/csi/test_identity.c
endif
libscoria_a_SOURCES += \
	csi/filesystem.c csi/filesystem.h \
	csi/holder.c csi/holder.h \
	csi/kubelet_path.c csi/kubelet_path.h \
	csi/label.h \
	csi/loop.c csi/loop.h \
	csi/loop_ask.c csi/loop_ask.h \
	csi/loop_seal.c csi/loop_seal.h \
	csi/mount.c csi/mount.h \
	csi/mount_flags.c csi/mount_flags.h \
	csi/mount_table.c csi/mount_table.h \
	csi/node.h \
	csi/node_backing.c csi/node_backing.h \
	csi/node_image.c csi/node_image.h \
	csi/node_image_check.c csi/node_image_parse.c \
	csi/node_lock.c \
	csi/node_publish.c \
	csi/node_stage.c \
	csi/node_usage.c \
	csi/node_volume.c csi/node_volume.private.h \
	csi/throttle.c csi/throttle.h \
	csi/turn.c csi/turn.h

if HAVE_CHECK
slow_tests += tests/unit/csi/test_filesystem tests/unit/csi/test_node_death \
	tests/unit/csi/test_node_publish tests/unit/csi/test_node_stage
check_PROGRAMS += \
	tests/unit/csi/test_holder \
	tests/unit/csi/test_kubelet_path \
	tests/unit/csi/test_loop \
	tests/unit/csi/test_mount_flags \
	tests/unit/csi/test_mount_table \
	tests/unit/csi/test_node_image \
	tests/unit/csi/test_node_room
endif
endif
EXTRA_DIST += tests/unit/csi/node_scene.h tests/unit/csi/node_test.h
