libscoria_a_SOURCES += \
	common/arena.c common/arena.h \
	common/cleanup.h \
	common/clock.c common/clock.h \
	common/error.c common/error.def common/error.h \
	common/extend_header.h \
	common/field.c common/field.h \
	common/http_answers.c common/http_answers.h \
	common/http_client.c common/http_client.h \
	common/http_head.c common/http_head.h \
	common/http_origin.c common/http_origin.h \
	common/http_server.c common/http_server.h \
	common/http_tls.c common/http_tls.h \
	common/image_lock.c common/image_lock.h \
	common/json.c common/json.h \
	common/json_out.c common/json_out.h \
	common/keystone.c common/keystone.h \
	common/keystone_auth.c common/keystone_auth.h \
	common/keystone_settings.c \
	common/log.c common/log.h \
	common/md5.c common/md5.h \
	common/option.c common/option.h \
	common/own_user.c common/own_user.h \
	common/process.c common/process.h \
	common/token.c common/token.h \
	common/token_cache.c common/token_cache.h \
	common/token_check.c common/token_check.h \
	common/token_gate.c common/token_gate.h \
	common/utf8.c common/utf8.h \
	common/worker.c common/worker.h

libscoria_a_SOURCES += \
	common/http_connection.c common/http_connection.h \
	common/http_crowd.c common/http_crowd.h \
	common/http_door.c common/http_door.h \
	common/listen.c common/listen.h \
	common/option_file.c common/option_file.h \
	common/option_list.c common/option_list.h \
	common/option_print.c

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/common/test_arena \
	tests/unit/common/test_clock \
	tests/unit/common/test_error \
	tests/unit/common/test_http_answers \
	tests/unit/common/test_http_client \
	tests/unit/common/test_http_origin \
	tests/unit/common/test_http_server \
	tests/unit/common/test_field \
	tests/unit/common/test_json \
	tests/unit/common/test_json_out \
	tests/unit/common/test_keystone \
	tests/unit/common/test_log \
	tests/unit/common/test_md5 \
	tests/unit/common/test_option \
	tests/unit/common/test_own_user \
	tests/unit/common/test_process \
	tests/unit/common/test_token \
	tests/unit/common/test_token_check \
	tests/unit/common/test_utf8 \
	tests/unit/common/test_worker
endif
