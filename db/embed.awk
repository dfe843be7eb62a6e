# Turns schema texts (NNNN_name.sql, given in order) into a C file: see schema.h.

function escaped(line) {
    gsub(/\\/, "\\\\", line)
    gsub(/"/, "\\\"", line)
    return line
}

BEGIN {
    print "#include \"db/schema.h\"\n"
    print "const struct schema_text schema_texts[] = {"
}

FNR == 1 {
    if (count++)
        print "    },"
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.sql$/, "", name)
    printf "    { %d, \"%s\",\n", name + 0, name
}

{ printf "      \"%s\\n\"\n", escaped($0) }

END {
    print "    },\n};\n"
    printf "const unsigned schema_text_count = %d;\n", count
}
