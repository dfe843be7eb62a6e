/*
 * Request header of this service beside the standard calls.  It names a metadata key of the object
 * to be created: the request is refused (409) when an object of the same kind and project has the
 * same value of that key.  Group and group snapshot have no metadata; with "name" the pair of name
 * and description must be unique.  Other volume services ignore the header and create a second
 * object.  The former name stays for one release: a client sends both names, as an API of the
 * release before knows only the former.
 */
#pragma once

#define UNIQUE_HEADER        "X-Scoria-Unique"
#define UNIQUE_HEADER_FORMER "X-Scoria-Alone"
