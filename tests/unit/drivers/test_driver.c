#include "drivers/driver.h"

#include "tests/unit/drivers/driver_test.h"

START_TEST(every_driver_is_found_by_its_name) {
    size_t count = 0;

    for (; drivers[count]; count++) {
        ck_assert_ptr_eq(driver_find(drivers[count]->name), drivers[count]);
        ck_assert_ptr_nonnull(drivers[count]->open);
        ck_assert_ptr_nonnull(drivers[count]->options);
    }
    ck_assert_uint_eq(count, 7);
    ck_assert_ptr_null(driver_find("lvm"));
    ck_assert_ptr_null(driver_find(""));
}
END_TEST

START_TEST(class_paths_of_cinder_are_known) {
    ck_assert_ptr_eq(driver_find("cinder.volume.drivers.nfs.NfsDriver"), &nfs_driver);
    ck_assert_ptr_eq(driver_find("cinder.volume.drivers.netapp.common.NetAppDriver"),
                     &netapp_nfs_driver);
    ck_assert_ptr_eq(driver_find("cinder.volume.drivers.dell_emc.powerstore.nfs."
                                 "PowerStoreNFSDriver"),
                     &powerstore_nfs_driver);
    ck_assert_ptr_eq(driver_find("cinder.volume.drivers.quobyte.QuobyteDriver"), &quobyte_driver);
    ck_assert_ptr_null(driver_find("cinder.volume.drivers.lvm.LVMVolumeDriver"));
}
END_TEST

START_TEST(a_misspelling_has_a_neighbour) {
    ck_assert_str_eq(driver_nearest("nfss"), "nfs");
    ck_assert_str_eq(driver_nearest("quobite"), "quobyte");
    ck_assert_ptr_nonnull(driver_nearest("something else entirely"));
}
END_TEST

START_TEST(every_option_belongs_to_backends_and_has_help) {
    const struct option *tables[8] = { driver_options };

    for (size_t i = 0; drivers[i]; i++)
        tables[i + 1] = drivers[i]->options;
    for (size_t i = 0; i < LENGTH(tables); i++) {
        for (const struct option *option = tables[i]; option->type != OPTION_TYPE_END; option++) {
            ck_assert_str_eq(option->section, OPTION_BACKEND);
            ck_assert_ptr_nonnull(option->help);
            ck_assert_int_eq(option->help[strlen(option->help) - 1], '.');
        }
    }
}
END_TEST

CHECK_MAIN("driver", every_driver_is_found_by_its_name, class_paths_of_cinder_are_known,
           a_misspelling_has_a_neighbour, every_option_belongs_to_backends_and_has_help)
