libscoria_a_SOURCES += \
	rest/accept.c rest/accept.h \
	rest/answer.c rest/answer.h \
	rest/body.c \
	rest/call.c rest/call.h \
	rest/confirmation.c \
	rest/dict_text.c rest/dict_text.h \
	rest/fault.c rest/fault.h \
	rest/literal.c rest/literal.h \
	rest/metadata.c rest/metadata.h \
	rest/microversion.h \
	rest/openapi.c rest/openapi.h rest/openapi.private.h \
	rest/openapi_answer.c \
	rest/openapi_body.c \
	rest/openapi_member.c \
	rest/openapi_parameters.c \
	rest/page.c rest/page.h \
	rest/page_filter.c rest/page_filter.h \
	rest/page_pairs.c rest/page_pairs.h \
	rest/page_read.c rest/page_read.h \
	rest/page_sort.c rest/page_sort.h \
	rest/places.c rest/places.h \
	rest/read.c \
	rest/request.c rest/request.h \
	rest/request_slots.c rest/request_slots.h \
	rest/resource.c rest/resource.h \
	rest/resource_list.c \
	rest/route.h \
	rest/route_table.c rest/route_table.h \
	rest/router.c rest/router.h \
	rest/settings.h \
	rest/shape.c rest/shape.h \
	rest/specs.c rest/specs.h \
	rest/status_body.c rest/status_body.h \
	rest/unique.c rest/unique.h \
	rest/url.c rest/url.h \
	rest/versions.c rest/versions.h \
	rest/view_pairs.c rest/view_pairs.h \
	rest/waiting.c rest/waiting.h \
	rest/watch.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/rest/test_dict_text \
	tests/unit/rest/test_fault \
	tests/unit/rest/test_openapi \
	tests/unit/rest/test_page \
	tests/unit/rest/test_reads \
	tests/unit/rest/test_request_slots \
	tests/unit/rest/test_route_table \
	tests/unit/rest/test_router \
	tests/unit/rest/test_versions \
	tests/unit/rest/test_waiting
endif
