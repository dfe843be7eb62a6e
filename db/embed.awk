# Turns schema texts (NNNN_name.sql, given in order, and after them baseline.sql) into a C file: see
# schema.h.

function escaped(line) {
    gsub(/\\/, "\\\\", line)
    gsub(/"/, "\\\"", line)
    return line
}

function texts_end() {
    print "    },\n};\n"
    printf "const unsigned schema_text_count = %d;\n\n", count
}

BEGIN {
    print "#include \"db/schema.h\"\n"
    print "const struct schema_text schema_texts[] = {"
}

FNR == 1 {
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.sql$/, "", name)
    if (name == "baseline") {
        texts_end()
        print "const char schema_baseline[] ="
    } else {
        if (count++)
            print "    },"
        printf "    { %d, \"%s\",\n", name + 0, name
    }
}

{ printf "      \"%s\\n\"\n", escaped($0) }

END { print "    ;" }
