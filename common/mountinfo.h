/*
 * The kernel's tables of mounts.
 */
#pragma once

/* Decodes a field in place: escapes such as "\040", with three octal digits. */
void mountinfo_decode(char *text);
