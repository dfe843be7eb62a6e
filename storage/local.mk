libscoria_a_SOURCES += \
	storage/agent.c storage/agent.h \
	storage/keeper.c storage/keeper.h storage/keeper.private.h storage/keeper_mend.c \
	storage/keeper_paper.c storage/keeper_paper.h \
	storage/keeper_work.c \
	storage/options.c \
	storage/pool_look.c storage/pool_look.h \
	storage/pools.c storage/pools.h \
	storage/rebuilds.c storage/rebuilds.h \
	storage/replicas.c storage/replicas.h \
	storage/reports.c storage/reports.h \
	storage/target_text.c storage/target_text.h \
	storage/targets.c storage/targets.h \
	storage/wanted.c storage/wanted.h \
	storage/watches.c storage/watches.h \
	storage/wish.c storage/wish.h

EXTRA_DIST += tests/unit/storage/storage_test.h

if HAVE_CHECK
slow_tests += tests/unit/storage/test_targets
check_PROGRAMS += \
	tests/unit/storage/test_pools \
	tests/unit/storage/test_reports \
	tests/unit/storage/test_wanted \
	tests/unit/storage/test_wish
endif
