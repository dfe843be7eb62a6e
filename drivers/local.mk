libscoria_a_SOURCES += \
	drivers/directory.c drivers/directory.h \
	drivers/driver.c drivers/driver.h \
	drivers/fault.c drivers/fault.h \
	drivers/file.c \
	drivers/image.c drivers/image.h \
	drivers/memory.c drivers/memory.h \
	drivers/mount.c drivers/mount.h \
	drivers/mounted_share.c drivers/mounted_share.h \
	drivers/netapp_nfs.c \
	drivers/nfs.c drivers/nfs.h \
	drivers/powerstore_nfs.c \
	drivers/qemu_img.c drivers/qemu_img.h \
	drivers/quobyte.c \
	drivers/remotefs.c drivers/remotefs.h \
	drivers/shares.c drivers/shares.h \
	drivers/volume_file.c drivers/volume_file.h
EXTRA_DIST += tests/unit/drivers/driver_test.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/contract/test_driver_contract \
	tests/contract/test_driver_guest \
	tests/fault/test_driver_calls \
	tests/unit/drivers/test_directory \
	tests/unit/drivers/test_driver \
	tests/unit/drivers/test_fault \
	tests/unit/drivers/test_file \
	tests/unit/drivers/test_image \
	tests/unit/drivers/test_memory \
	tests/unit/drivers/test_mount \
	tests/unit/drivers/test_nfs \
	tests/unit/drivers/test_qemu_img \
	tests/unit/drivers/test_quobyte \
	tests/unit/drivers/test_remotefs \
	tests/unit/drivers/test_shares \
	tests/unit/drivers/test_volume_file
endif
