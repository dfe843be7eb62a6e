/*
 * The kernel's tables of mounts.
 */
#pragma once

/* A field of theirs in its place: "\040" and its kind, three octal digits, become the character. */
void mountinfo_decode(char *text);
