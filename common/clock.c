#include "common/clock.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define DAY_US (86400 * SECOND_US)

/* Years 1 to 9999, as far as the text form reaches. */
#define LEAST_US (-719162 * DAY_US)
#define MOST_US  (2932897 * DAY_US - 1)

static int64_t read_us(clockid_t id) {
    struct timespec now;

    clock_gettime(id, &now);
    return now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

int64_t clock_next_us(_Atomic int64_t *last, int64_t now_us) {
    int64_t last_us = atomic_load_explicit(last, memory_order_relaxed);
    int64_t next_us;

    do
        next_us = now_us > last_us || now_us <= last_us - SECOND_US ? now_us : last_us + 1;
    while (!atomic_compare_exchange_weak(last, &last_us, next_us));
    return next_us;
}

static int64_t system_now_us(void *arg) {
    static _Atomic int64_t last;

    (void)arg;
    return clock_next_us(&last, read_us(CLOCK_REALTIME));
}

static int64_t system_steady_us(void *arg) {
    (void)arg;
    return clock_boottime_us();
}

static void ask_kernel(char *bytes, size_t size) {
    while (size > 0) {
        ssize_t got = getrandom(bytes, size, 0);

        if (got < 0 && errno != EINTR) {
            perror("getrandom");
            abort();
        }
        if (got > 0) {
            bytes += got;
            size -= (size_t)got;
        }
    }
}

/* Sixteen ids for one system call.  Used ids are wiped; a child starts with an empty stock after
 * fork(), or it would repeat the ids of its parent. */
static _Thread_local struct {
    char bytes[256];
    size_t left;
} stock;

static void empty_stock(void) {
    stock.left = 0;
}

static void watch_forks(void) {
    if (pthread_atfork(NULL, NULL, empty_stock) != 0)
        abort();
}

static void system_random(void *arg, void *bytes, size_t size) {
    static pthread_once_t watching = PTHREAD_ONCE_INIT;

    (void)arg;
    if (size > sizeof(stock.bytes)) {
        ask_kernel(bytes, size);
        return;
    }
    if (size > stock.left) {
        pthread_once(&watching, watch_forks);
        ask_kernel(stock.bytes, sizeof(stock.bytes));
        stock.left = sizeof(stock.bytes);
    }
    stock.left -= size;
    memcpy(bytes, stock.bytes + stock.left, size);
    explicit_bzero(stock.bytes + stock.left, size);
}

const struct clock clock_system = { .now_us = system_now_us,
                                    .steady_us = system_steady_us,
                                    .shared_us = system_steady_us,
                                    .random = system_random };

int64_t clock_now_us(const struct clock *clock) {
    return clock->now_us(clock->arg);
}

int64_t clock_steady_us(const struct clock *clock) {
    return clock->steady_us(clock->arg);
}

int64_t clock_shared_us(const struct clock *clock) {
    return clock->shared_us(clock->arg);
}

int64_t clock_boottime_us(void) {
    return read_us(CLOCK_BOOTTIME);
}

int64_t clock_monotonic_us(void) {
    return read_us(CLOCK_MONOTONIC);
}

struct date {
    unsigned year, month, day;
};

/*
 * Years are counted from March here, so that a leap day is the last day of its year and each
 * month's start follows from one division; `days` counts from 0000-03-01, 400 years are 146097
 * days.
 */
static struct date date_of_days(uint32_t days) {
    uint32_t era = days / 146097, of_era = days % 146097;
    uint32_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint32_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint32_t month = (5 * of_year + 2) / 153;
    uint32_t day = of_year - (153 * month + 2) / 5 + 1;

    month = month < 10 ? month + 3 : month - 9;
    return (struct date){ era * 400 + year + (month <= 2), month, day };
}

static int64_t days_of_date(struct date date) {
    uint32_t year = date.year - (date.month <= 2), of_era = year % 400;
    uint32_t month = date.month > 2 ? date.month - 3 : date.month + 9;
    uint32_t of_year = (153 * month + 2) / 5 + date.day - 1;

    return year / 400 * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
}

/* Days from 0000-03-01 to 1970-01-01. */
#define EPOCH_DAYS 719468

/* Two digits, and the character behind them. */
static inline char *put_two(char *text, uint32_t value, char after) {
    text[0] = (char)('0' + value / 10);
    text[1] = (char)('0' + value % 10);
    text[2] = after;
    return text + 2 + (after != '\0');
}

char *clock_text(int64_t instant_us, char text[CLOCK_TEXT_SIZE]) {
    int64_t instant = instant_us < LEAST_US  ? LEAST_US
                      : instant_us > MOST_US ? MOST_US
                                             : instant_us;
    uint64_t since = (uint64_t)(instant + EPOCH_DAYS * DAY_US);
    uint64_t of_day = since % (uint64_t)DAY_US;
    uint32_t second = (uint32_t)(of_day / (uint64_t)SECOND_US);
    uint32_t micro = (uint32_t)(of_day % (uint64_t)SECOND_US);
    struct date date = date_of_days((uint32_t)(since / (uint64_t)DAY_US));
    char *end = put_two(put_two(text, date.year / 100, '\0'), date.year % 100, '-');

    end = put_two(put_two(end, date.month, '-'), date.day, 'T');
    end = put_two(put_two(end, second / 3600, ':'), second / 60 % 60, ':');
    end = put_two(put_two(end, second % 60, '.'), micro / 10000, '\0');
    put_two(put_two(end, micro / 100 % 100, '\0'), micro % 100, '\0');
    return text;
}

/* The parsers below advance *text; on false its position is undefined. */

static bool take_char(const char **text, const char *one_of) {
    if (**text == '\0' || !strchr(one_of, **text))
        return false;
    (*text)++;
    return true;
}

static bool take_number(const char **text, unsigned width, unsigned least, unsigned most,
                        unsigned *ret) {
    unsigned number = 0;

    for (; width > 0; width--, (*text)++) {
        if (!isdigit((unsigned char)**text))
            return false;
        number = number * 10 + (unsigned)(**text - '0');
    }
    *ret = number;
    return number >= least && number <= most;
}

static bool take_date(const char **text, struct date *ret) {
    static const unsigned days[] = { 0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    struct date date;
    bool leap;

    if (!take_number(text, 4, 1, 9999, &date.year) || !take_char(text, "-") ||
        !take_number(text, 2, 1, 12, &date.month) || !take_char(text, "-") ||
        !take_number(text, 2, 1, 31, &date.day))
        return false;
    leap = (date.year % 4 == 0 && date.year % 100 != 0) || date.year % 400 == 0;
    *ret = date;
    return date.day <= days[date.month] + (date.month == 2 && leap);
}

/* One to nine digits; those below a microsecond are dropped. */
static bool take_fraction(const char **text, int64_t *ret_us) {
    int64_t fraction = 0;
    unsigned digits = 0;

    for (; isdigit((unsigned char)**text); (*text)++, digits++) {
        if (digits < 6)
            fraction = fraction * 10 + (**text - '0');
    }
    for (unsigned i = digits; i < 6; i++)
        fraction *= 10;
    *ret_us = fraction;
    return digits >= 1 && digits <= 9;
}

static bool take_time(const char **text, int64_t *ret_us) {
    unsigned hour, minute, second;
    int64_t fraction = 0;

    if (!take_number(text, 2, 0, 23, &hour) || !take_char(text, ":") ||
        !take_number(text, 2, 0, 59, &minute) || !take_char(text, ":") ||
        !take_number(text, 2, 0, 59, &second))
        return false;
    if (take_char(text, ".") && !take_fraction(text, &fraction))
        return false;
    *ret_us = (hour * 3600 + minute * 60 + second) * SECOND_US + fraction;
    return true;
}

/* Nothing, Z, or ±hh:mm: the offset of the text from UTC. */
static bool take_zone(const char **text, int64_t *ret_us) {
    unsigned hours, minutes;
    int64_t sign = **text == '-' ? -1 : 1;

    *ret_us = 0;
    if (**text == '\0' || take_char(text, "Z"))
        return true;
    if (!take_char(text, "+-") || !take_number(text, 2, 0, 23, &hours) || !take_char(text, ":") ||
        !take_number(text, 2, 0, 59, &minutes))
        return false;
    *ret_us = sign * (hours * 60 + minutes) * 60 * SECOND_US;
    return true;
}

int clock_parse(const char *text, int64_t *ret_us) {
    struct date date;
    int64_t of_day = 0, zone = 0;

    if (!take_date(&text, &date))
        return -1;
    if (take_char(&text, "T ") && (!take_time(&text, &of_day) || !take_zone(&text, &zone)))
        return -1;
    if (*text != '\0')
        return -1;
    *ret_us = (days_of_date(date) - EPOCH_DAYS) * DAY_US + of_day - zone;
    return 0;
}

#define UUID_DIGITS 32

static bool hyphen_before(unsigned digit) {
    return digit == 8 || digit == 12 || digit == 16 || digit == 20;
}

char *clock_uuid(const struct clock *clock, char text[UUID_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[UUID_DIGITS / 2];
    char *end = text;

    clock->random(clock->arg, bytes, sizeof(bytes));
    bytes[6] = (bytes[6] & 0x0f) | 0x40; /* version 4 */
    bytes[8] = (bytes[8] & 0x3f) | 0x80; /* the standard's variant */
    for (unsigned i = 0; i < sizeof(bytes); i++) {
        if (hyphen_before(2 * i))
            *end++ = '-';
        *end++ = digits[bytes[i] >> 4];
        *end++ = digits[bytes[i] & 0x0f];
    }
    *end = '\0';
    return text;
}

bool uuid_parse(const char *text, char ret[UUID_SIZE]) {
    char canonical[UUID_SIZE];
    char *end = canonical;
    unsigned digits = 0;

    for (; *text != '\0'; text++) {
        if (*text == '-')
            continue;
        if (!isxdigit((unsigned char)*text) || digits == UUID_DIGITS)
            return false;
        if (hyphen_before(digits++))
            *end++ = '-';
        *end++ = (char)tolower((unsigned char)*text);
    }
    *end = '\0';
    if (digits != UUID_DIGITS)
        return false;
    if (ret)
        memcpy(ret, canonical, sizeof(canonical));
    return true;
}

bool uuid_is_canonical(const char *text) {
    char canonical[UUID_SIZE];

    return uuid_parse(text, canonical) && strcmp(text, canonical) == 0;
}
