libscoria_a_SOURCES += \
	ledger/host.c ledger/host.h \
	ledger/message.c ledger/message.h \
	ledger/operation.c ledger/operation.h ledger/operation.private.h \
	ledger/operation_turn.c \
	ledger/pairs.c ledger/pairs.h \
	ledger/phase.def \
	ledger/query.c ledger/query.h \
	ledger/queue.c ledger/queue.private.h \
	ledger/quota.c ledger/quota.h \
	ledger/quota_limit.c ledger/quota_limit.h \
	ledger/service.c ledger/service.h \
	ledger/service_log.c ledger/service_log.h \
	ledger/settings.c ledger/settings.h \
	ledger/status.c ledger/status.h \
	ledger/work.c ledger/work.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/ledger/test_host \
	tests/unit/ledger/test_message \
	tests/unit/ledger/test_pairs \
	tests/unit/ledger/test_query \
	tests/unit/ledger/test_quota \
	tests/unit/ledger/test_quota_limit \
	tests/unit/ledger/test_service \
	tests/unit/ledger/test_service_log \
	tests/unit/ledger/test_status \
	tests/unit/ledger/test_unserved \
	tests/unit/ledger/test_work
endif
