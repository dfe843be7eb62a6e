libscoria_a_SOURCES += \
	kubernetes/bridge.c kubernetes/bridge.h \
	kubernetes/cluster.c kubernetes/cluster.h \
	kubernetes/options.c \
	kubernetes/queue.c kubernetes/queue.h \
	kubernetes/sync.c kubernetes/sync.h \
	kubernetes/translate.c kubernetes/translate.h


if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/kubernetes/test_bridge \
	tests/unit/kubernetes/test_cluster \
	tests/unit/kubernetes/test_queue \
	tests/unit/kubernetes/test_sync \
	tests/unit/kubernetes/test_translate
tests_unit_kubernetes_test_bridge_SOURCES = tests/unit/kubernetes/quoted.h \
	tests/unit/kubernetes/test_bridge.c
tests_unit_kubernetes_test_cluster_SOURCES = tests/unit/kubernetes/quoted.h \
	tests/unit/kubernetes/test_cluster.c
tests_unit_kubernetes_test_sync_SOURCES = tests/unit/kubernetes/quoted.h \
	tests/unit/kubernetes/test_sync.c
tests_unit_kubernetes_test_translate_SOURCES = tests/unit/kubernetes/quoted.h \
	tests/unit/kubernetes/test_translate.c
endif
