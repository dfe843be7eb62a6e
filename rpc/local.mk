libscoria_a_SOURCES += \
	rpc/amqp.h rpc/amqp_options.c \
	rpc/amqp_monitor.c rpc/amqp_monitor.h \
	rpc/amqp_recent.c rpc/amqp_recent.h \
	rpc/amqp_url.c rpc/amqp_url.h \
	rpc/envelope.c rpc/envelope.h \
	rpc/local.c \
	rpc/relay.c rpc/relay.h \
	rpc/rpc.h \
	rpc/split.c rpc/split.h

amqp_sources = \
	rpc/amqp.c \
	rpc/amqp_delivery.c rpc/amqp_delivery.h \
	rpc/amqp_link.c rpc/amqp_link.h \
	rpc/amqp_receiver.c rpc/amqp_receiver.h \
	rpc/amqp_sender.c rpc/amqp_sender.h
if HAVE_RABBITMQ
libscoria_a_SOURCES += $(amqp_sources)
else
EXTRA_DIST += $(amqp_sources)
endif

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/rpc/test_amqp_monitor \
	tests/unit/rpc/test_amqp_recent \
	tests/unit/rpc/test_amqp_url \
	tests/unit/rpc/test_envelope \
	tests/unit/rpc/test_local \
	tests/unit/rpc/test_relay \
	tests/unit/rpc/test_split
endif
