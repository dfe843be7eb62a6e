libscoria_a_SOURCES += \
	api/extensions.c \
	api/hosts.c api/hosts.h \
	api/messages.c \
	api/pools.c api/pools.h \
	api/quotas.c \
	api/resource_filters.c \
	api/routes.c api/routes.def api/routes.h \
	api/service_log.c api/service_log.h \
	api/services.c \
	api/attachment/actions.c \
	api/attachment/attachments.c \
	api/attachment/connect.c api/attachment/connect.h \
	api/confirm.c api/confirm.h \
	api/documents/agent_instance.c api/documents/agent_instance.h \
	api/documents/documents.c \
	api/documents/replica_pools.c \
	api/documents/resources.c api/documents/resources.h \
	api/documents/watch.c api/documents/watch.h \
	api/documents/watcher.c api/documents/watcher.h \
	api/documents/watchers.c api/documents/watchers.h \
	api/group/copies.c \
	api/group/groups.c \
	api/group/resource.c api/group/resource.h \
	api/group/snapshot_resource.h \
	api/group/snapshots.c \
	api/snapshot/resource.c api/snapshot/resource.h \
	api/snapshot/snapshots.c \
	api/type/default_types.c \
	api/type/encryption.c \
	api/type/group_types.c \
	api/type/qos.c \
	api/type/resource.c api/type/resource.h \
	api/type/types.c \
	api/type/view.c api/type/view.h \
	api/type/volume_limits.c \
	api/volume/actions.c \
	api/volume/existing.c \
	api/volume/image.c api/volume/image.h \
	api/volume/reclaim.c \
	api/volume/reimage.c \
	api/volume/resource.c api/volume/resource.h \
	api/volume/retype.c \
	api/volume/summary.c api/volume/summary.h \
	api/volume/transfers.c \
	api/volume/upload.c \
	api/volume/view.c api/volume/view.h \
	api/volume/volumes.c

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/api/test_bounds \
	tests/unit/api/test_extensions \
	tests/unit/api/test_hostile_requests \
	tests/unit/api/test_messages \
	tests/unit/api/test_quotas \
	tests/unit/api/test_resource_filters \
	tests/unit/api/test_rights \
	tests/unit/api/test_rights_paths \
	tests/unit/api/test_rights_rules \
	tests/unit/api/test_service_log \
	tests/unit/api/test_services \
	tests/unit/api/test_small_stack \
	tests/unit/api/attachment/test_attachments \
	tests/unit/api/attachment/test_connect \
	tests/unit/api/attachment/test_release \
	tests/unit/api/documents/test_documents \
	tests/unit/api/documents/test_replica_pools \
	tests/unit/api/documents/test_volume_configs \
	tests/unit/api/documents/test_watch \
	tests/unit/api/group/test_consistency_groups \
	tests/unit/api/group/test_copies \
	tests/unit/api/group/test_groups \
	tests/unit/api/group/test_snapshots \
	tests/unit/api/snapshot/test_snapshots \
	tests/unit/api/type/test_default_types \
	tests/unit/api/type/test_encryption \
	tests/unit/api/type/test_group_types \
	tests/unit/api/type/test_qos \
	tests/unit/api/type/test_types \
	tests/unit/api/volume/test_actions \
	tests/unit/api/volume/test_image_certificates \
	tests/unit/api/volume/test_images \
	tests/unit/api/volume/test_list \
	tests/unit/api/volume/test_metadata \
	tests/unit/api/volume/test_plans \
	tests/unit/api/volume/test_transfers \
	tests/unit/api/volume/test_upload \
	tests/unit/api/volume/test_view \
	tests/unit/api/volume/test_volumes
tests_unit_api_test_hostile_requests_SOURCES = \
	tests/unit/api/rights.c tests/unit/api/rights.h tests/unit/api/test_hostile_requests.c
tests_unit_api_test_rights_SOURCES = \
	tests/unit/api/rights.c tests/unit/api/rights.h tests/unit/api/test_rights.c
tests_unit_api_test_rights_paths_SOURCES = \
	tests/unit/api/rights.c tests/unit/api/rights.h tests/unit/api/test_rights_paths.c
tests_unit_api_test_rights_rules_SOURCES = \
	tests/unit/api/rights.c tests/unit/api/rights.h tests/unit/api/test_rights_rules.c
endif
