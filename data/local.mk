libscoria_a_SOURCES += \
	data/chain_io.c data/chain_io.h \
	data/checksum_io.c data/checksum_io.h \
	data/converted_image_io.c data/converted_image_io.h \
	data/copy.c data/copy.h \
	data/copy_digest.c data/copy_digest.h \
	data/deadline_io.c data/deadline_io.h \
	data/file_io.c data/file_io.h \
	data/http_sink_io.c data/http_sink_io.h \
	data/http_source_io.c data/http_source_io.h \
	data/image_bytes.c data/image_bytes.h \
	data/image_inspect.c data/image_inspect.h data/image_inspect.private.h \
	data/image_inspect_disk.c data/image_inspect_virtual.c data/image_inspect_vmdk.c \
	data/nbd_io.c data/nbd_io.h \
	data/nbd_session.c data/nbd_session.h \
	data/qcow2_check.c data/qcow2_check.h \
	data/qcow2_image_io.c data/qcow2_image_io.h \
	data/signature.c data/signature.h \
	data/signature_io.c data/signature_io.h \
	data/temporary_file.c data/temporary_file.h \
	data/throttle_io.c data/throttle_io.h \
	data/volume_io.c data/volume_io.h

EXTRA_DIST += tests/unit/data/http_peer.h tests/unit/data/image_file.h tests/unit/data/volume_data.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/data/test_chain_io \
	tests/unit/data/test_converted_image_io \
	tests/unit/data/test_copy \
	tests/unit/data/test_file_io \
	tests/unit/data/test_filters \
	tests/unit/data/test_http_sink_io \
	tests/unit/data/test_http_source_io \
	tests/unit/data/test_image_inspect \
	tests/unit/data/test_nbd_io \
	tests/unit/data/test_qcow2_image_io \
	tests/unit/data/test_signature_io
endif
