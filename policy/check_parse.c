#include "policy/check_parse.private.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <string.h>
#include <strings.h>

#define DEPTH_MOST 200 /* of brackets and "not" in one text */

enum token { TOKEN_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_AND, TOKEN_OR, TOKEN_NOT, TOKEN_CHECK };

struct parser {
    struct arena *arena;
    struct error *err;
    const char *at;
    unsigned closing; /* brackets at the end of the last token, still to be returned */
    enum token token;
    const char *word; /* of a TOKEN_CHECK */
    unsigned depth, terms;
};

static enum token word_token(const char *word) {
    static const struct {
        const char *word;
        enum token token;
    } words[] = { { "and", TOKEN_AND }, { "or", TOKEN_OR }, { "not", TOKEN_NOT } };

    for (size_t i = 0; i < LENGTH(words); i++)
        if (strcasecmp(words[i].word, word) == 0)
            return words[i].token;
    return TOKEN_CHECK;
}

static void parser_next(struct parser *parser) {
    size_t length;

    parser->token = TOKEN_CLOSE;
    if (parser->closing > 0) {
        parser->closing--;
        return;
    }
    parser->at += strspn(parser->at, " \t\r\n");
    if (*parser->at == '(') {
        parser->at++;
        parser->token = TOKEN_OPEN;
        return;
    }
    length = strcspn(parser->at, " \t\r\n");
    parser->at += length;
    if (length == 0) {
        parser->token = TOKEN_END;
        return;
    }
    parser->word = parser->at - length;
    for (; length > 0 && parser->word[length - 1] == ')'; length--)
        parser->closing++;
    if (length == 0) {
        parser->closing--;
        return;
    }
    parser->word = arena_text_n(parser->arena, parser->word, length);
    parser->token = word_token(parser->word);
}

/* A quoted word is not a check: it is false, for compatibility. */
static const struct check *parse_word(struct parser *parser) {
    const char *word = parser->word;
    size_t length = strlen(word);

    if (length >= 2 && strchr("'\"", word[0]) && word[length - 1] == word[0]) {
        log_warning(NULL, "policy rule contains a quoted word, which is always false", "word", word,
                    NULL);
        return check_constant(false);
    }
    return check_word(parser->arena, word, parser->err);
}

static const struct check *parse_any(struct parser *parser);

static const struct check *parse_term(struct parser *parser) {
    enum token token = parser->token;
    const struct check *check = NULL;

    if (++parser->depth > DEPTH_MOST)
        return check_refuse(parser->err, "brackets are nested too deeply at", parser->at);
    if (++parser->terms > CHECK_TERMS_MOST)
        return check_refuse(parser->err, "there are too many checks before", parser->at);
    if (token == TOKEN_CHECK)
        check = parse_word(parser);
    else if (token != TOKEN_OPEN && token != TOKEN_NOT)
        return check_refuse(parser->err, "a check is missing before", parser->at);
    parser_next(parser);
    if (token == TOKEN_NOT) {
        check = parse_term(parser);
        if (check)
            check = check_not(parser->arena, check);
    } else if (token == TOKEN_OPEN) {
        check = parse_any(parser);
        if (check && parser->token != TOKEN_CLOSE)
            return check_refuse(parser->err, "a closing bracket is missing before", parser->at);
        parser_next(parser);
    }
    parser->depth--;
    return check;
}

static const struct check *parse_all(struct parser *parser) {
    const struct check *checks = parse_term(parser);

    while (checks && parser->token == TOKEN_AND) {
        const struct check *right;

        parser_next(parser);
        right = parse_term(parser);
        checks = right ? check_all(parser->arena, checks, right) : NULL;
    }
    return checks;
}

static const struct check *parse_any(struct parser *parser) {
    const struct check *checks = parse_all(parser);

    while (checks && parser->token == TOKEN_OR) {
        const struct check *right;

        parser_next(parser);
        right = parse_all(parser);
        checks = right ? check_any(parser->arena, checks, right) : NULL;
    }
    return checks;
}

const struct check *check_parse(struct arena *arena, const char *text, struct error *err) {
    struct parser parser = { .arena = arena, .err = err, .at = text };
    const struct check *check;

    parser_next(&parser);
    if (parser.token == TOKEN_END)
        return check_constant(true);
    check = parse_any(&parser);
    if (check && parser.token != TOKEN_END)
        return check_refuse(err, "this does not belong here",
                            parser.token == TOKEN_CHECK ? parser.word : ")");
    return check;
}
