#include "common/mountinfo.h"

#include <string.h>

void mountinfo_decode(char *text) {
    char *to = text;

    for (const char *from = text; *from; to++)
        if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    *to = '\0';
}
