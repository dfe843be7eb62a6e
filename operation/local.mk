libscoria_a_SOURCES += \
	operation/host.c operation/host.h \
	operation/message.c operation/message.h \
	operation/operation.c operation/operation.h operation/operation.private.h \
	operation/operation_turn.c \
	operation/pairs.c operation/pairs.h \
	operation/phase.def \
	operation/query.c operation/query.h \
	operation/queue.c operation/queue.private.h \
	operation/quota.c operation/quota.h \
	operation/quota_limit.c operation/quota_limit.h \
	operation/service.c operation/service.h \
	operation/service_log.c operation/service_log.h \
	operation/settings.c operation/settings.h \
	operation/status.c operation/status.h \
	operation/taker.c operation/taker.h \
	operation/work.c operation/work.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/operation/test_host \
	tests/unit/operation/test_message \
	tests/unit/operation/test_pairs \
	tests/unit/operation/test_query \
	tests/unit/operation/test_quota \
	tests/unit/operation/test_quota_limit \
	tests/unit/operation/test_service \
	tests/unit/operation/test_service_log \
	tests/unit/operation/test_status \
	tests/unit/operation/test_unserved \
	tests/unit/operation/test_work
endif
