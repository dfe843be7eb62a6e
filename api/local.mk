libscoria_a_SOURCES += \
	api/answer.c api/answer.h \
	api/api_routes.c \
	api/attach_actions.c \
	api/attachments.c \
	api/body.c \
	api/accept.c api/accept.h \
	api/call.c api/call.h \
	api/connect.c api/connect.h \
	api/default_types.c \
	api/dict_text.c api/dict_text.h \
	api/agent_instance.c api/agent_instance.h \
	api/document_resources.c api/document_resources.h \
	api/documents.c \
	api/extensions.c \
	api/fault.c api/fault.h \
	api/group_resource.c api/group_resource.h \
	api/groups.c \
	api/group_copies.c \
	api/group_snapshots.c api/group_snapshot_resource.h \
	api/group_type_resource.c api/group_type_resource.h \
	api/group_types.c \
	api/hosts.c api/hosts.h \
	api/literal.c api/literal.h \
	api/document_watch.c api/document_watch.h \
	api/existing.c \
	api/messages.c \
	api/metadata.c api/metadata.h \
	api/microversion.h \
	api/openapi.c api/openapi.h api/openapi.private.h \
	api/openapi_answer.c \
	api/openapi_body.c \
	api/openapi_parameters.c \
	api/page.c api/page.h \
	api/page_filter.c api/page_filter.h \
	api/page_pairs.c api/page_pairs.h \
	api/page_read.c api/page_read.h \
	api/page_sort.c api/page_sort.h \
	api/places.c api/places.h \
	api/pools.c api/pools.h \
	api/qos.c \
	api/quotas.c \
	api/reclaim.c \
	api/read.c \
	api/release.c \
	api/replica_pools.c \
	api/request.c api/request.h \
	api/resource.c api/resource.h \
	api/resource_filters.c \
	api/resource_list.c \
	api/retype.c \
	api/route_table.c api/route_table.h \
	api/router.c api/router.h api/routes.def api/routes.h \
	api/request_slots.c \
	api/request_slots.h \
	api/service_log.c api/service_log.h \
	api/shape.c api/shape.h \
	api/services.c \
	api/snapshot_resource.c api/snapshot_resource.h \
	api/snapshots.c \
	api/settings.h \
	api/specs.c api/specs.h \
	api/status_body.c api/status_body.h \
	api/type_encryption.c \
	api/type_resource.c api/type_resource.h \
	api/type_view.c api/type_view.h \
	api/types.c \
	api/unique.c api/unique.h \
	api/url.c api/url.h \
	api/versions.c api/versions.h \
	api/view.c api/view.h \
	api/view_pairs.c api/view_pairs.h \
	api/volume_actions.c \
	api/volume_limits.c \
	api/volume_resource.c api/volume_resource.h \
	api/volume_summary.c api/volume_summary.h \
	api/volumes.c \
	api/waiting.c api/waiting.h \
	api/watcher.c api/watcher.h \
	api/watchers.c api/watchers.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/api/test_attachments \
	tests/unit/api/test_bounds \
	tests/unit/api/test_connect \
	tests/unit/api/test_consistency_groups \
	tests/unit/api/test_default_types \
	tests/unit/api/test_dict_text \
	tests/unit/api/test_document_watch \
	tests/unit/api/test_documents \
	tests/unit/api/test_extensions \
	tests/unit/api/test_fault \
	tests/unit/api/test_group_copies \
	tests/unit/api/test_group_snapshots \
	tests/unit/api/test_group_types \
	tests/unit/api/test_groups \
	tests/unit/api/test_hostile_requests \
	tests/unit/api/test_messages \
	tests/unit/api/test_openapi \
	tests/unit/api/test_page \
	tests/unit/api/test_qos \
	tests/unit/api/test_quotas \
	tests/unit/api/test_reads \
	tests/unit/api/test_release \
	tests/unit/api/test_replica_pools \
	tests/unit/api/test_resource_filters \
	tests/unit/api/test_rights \
	tests/unit/api/test_rights_paths \
	tests/unit/api/test_rights_rules \
	tests/unit/api/test_route_table \
	tests/unit/api/test_router \
	tests/unit/api/test_request_slots \
	tests/unit/api/test_service_log \
	tests/unit/api/test_services \
	tests/unit/api/test_small_stack \
	tests/unit/api/test_snapshots \
	tests/unit/api/test_type_encryption \
	tests/unit/api/test_types \
	tests/unit/api/test_versions \
	tests/unit/api/test_view \
	tests/unit/api/test_volume_actions \
	tests/unit/api/test_volume_configs \
	tests/unit/api/test_volume_list \
	tests/unit/api/test_volume_metadata \
	tests/unit/api/test_volume_plans \
	tests/unit/api/test_volumes \
	tests/unit/api/test_waiting
tests_unit_api_test_hostile_requests_SOURCES = \
	tests/unit/api/rights.c tests/unit/api/rights.h tests/unit/api/test_hostile_requests.c
tests_unit_api_test_rights_SOURCES = \
	tests/unit/api/rights.c tests/unit/api/rights.h tests/unit/api/test_rights.c
tests_unit_api_test_rights_paths_SOURCES = \
	tests/unit/api/rights.c tests/unit/api/rights.h tests/unit/api/test_rights_paths.c
tests_unit_api_test_rights_rules_SOURCES = \
	tests/unit/api/rights.c tests/unit/api/rights.h tests/unit/api/test_rights_rules.c
endif
