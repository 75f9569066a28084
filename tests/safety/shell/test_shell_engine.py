"""The parts of the engine one by one, also with trees that do not fit their text: a parser is not to be trusted."""

import pytest
from tree_sitter import Node

from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.conditions import check_condition
from midwatch.safety.shell.heredocs import check_heredoc
from midwatch.safety.shell.inquiry import DEEPEST, Inquiry
from midwatch.safety.shell.lexemes import WordReader
from midwatch.safety.shell.parse import parse
from midwatch.safety.shell.programs.arguments import Refused, read_arguments
from midwatch.safety.shell.programs.build import verb
from midwatch.safety.shell.programs.destinations import host_of, is_metadata
from midwatch.safety.shell.programs.judge import judge
from midwatch.safety.shell.quoting import (
    expand_braces,
    remove_from_ansi,
    remove_from_bare,
    remove_from_quoted,
    remove_from_raw,
    unmark,
)
from midwatch.safety.shell.redirects import judge_redirect
from midwatch.safety.shell.refusal import Beyond
from midwatch.safety.shell.verdict import Category
from midwatch.safety.shell.walk import Walk
from midwatch.safety.shell.words import HOLE, STUB, Word, show
from tests.safety.requirements import requirement


def reader(source: str) -> WordReader:
    return WordReader(source.encode(), ignore, lambda _name, _place: False)


def ignore(node: Node) -> None:
    """Takes what is found inside words, and looks no further."""
    del node


def find(source: str, kind: str) -> Node:
    """The first node of a kind, however deep."""
    waiting = [parse(source.encode())]
    while waiting:
        node = waiting.pop(0)
        if node.type == kind:
            return node
        waiting += node.children
    raise LookupError(kind)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\\ b", ["a b"]), ("a\\\nb", ["ab"]), ("{a,b}", ["a", "b"]), ("x{1..3}y", ["x1y", "x2y", "x3y"]),
        ("{3..1}", ["3", "2", "1"]), ("{1..5..2}", ["1", "3", "5"]), ("{01..03}", ["01", "02", "03"]),
        ("{a..c}", ["a", "b", "c"]), ("{c..a}", ["c", "b", "a"]), ("{}", ["{}"]), ("{a}", ["{a}"]),
        ("a{,b}", ["a", "ab"]), ("{-1..1}", ["-1", "0", "1"]), ("a,b", ["a,b"]), ("\\{a,b\\}", ["{a,b}"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
    ],
)  # fmt: skip
def test_braces_and_escapes_become_the_words_bash_makes_of_them(text: str, words: list[str]) -> None:
    assert expand_braces(remove_from_bare(text)[0]) == words


@pytest.mark.parametrize(
    "text", ["{a,{b,c}}", "{A..z}", "{1..100000}", "{a,b", "{a..bb}", "{1..600}", "{x}{a,b", "{1..99}{1..99}"]
)
def test_braces_beyond_understanding_are_unknown(text: str) -> None:
    assert expand_braces(remove_from_bare(text)[0]) is None


def test_a_lone_brace_is_text() -> None:
    assert expand_braces(remove_from_bare("a{b")[0]) == ["a{b"]
    assert unmark(remove_from_bare("a{b,c")[0]) == "a{b,c"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("$'a\\nb'", "a\nb"),
        ("$'\\x72m'", "rm"),
        ("$'\\162m'", "rm"),
        ("$'\\u0072'", "r"),
        ("$'\\U00000072'", "r"),
        ("$'\\q'", "\\q"),
        ("$'\\\\'", "\\"),
        ("$'\\''", "'"),
        ("$'\\e'", "\x1b"),
    ],
)
def test_codes_in_strings_are_read_as_bash_reads_them(text: str, plain: str) -> None:
    assert remove_from_ansi(text) == plain


@pytest.mark.parametrize(
    ("remove", "text"),
    [
        (remove_from_ansi, "$'\\x00'"), (remove_from_ansi, "$'\\cA'"), (remove_from_ansi, "$'\\xff'"),
        (remove_from_ansi, "'a'"), (remove_from_raw, "'a"), (remove_from_raw, "a"), (remove_from_raw, "'a'b'"),
        (remove_from_quoted, "a`b"), (remove_from_quoted, "a$b"), (remove_from_quoted, "a$(b"),
        (remove_from_quoted, 'a"b'), (remove_from_bare, "a b"), (remove_from_bare, "a;b"), (remove_from_bare, "a`b"),
        (remove_from_bare, "a$b"),
    ],
)  # fmt: skip
def test_text_that_cannot_be_what_the_tree_calls_it_is_refused(remove: object, text: str) -> None:
    assert callable(remove)
    with pytest.raises(Beyond):
        remove(text)


def test_quotes_leave_what_they_protect() -> None:
    assert remove_from_quoted('a\\"b\\$c\\d\\\ne$') == 'a"b$c\\de$'
    assert remove_from_raw("'a\\b'") == "a\\b"


def test_unknown_parts_are_shown_as_such() -> None:
    assert show(f"a{HOLE}b{STUB}") == "a$…b…"
    assert not Word("a", splits=True).starts_known
    assert Word("").starts_known


LYING = [
    ("echo 'ab'", "echo 'a b", "raw_string"), ('echo "ab"', "echo 'ab'", "string"),
    ("echo a'b'", "echo a 'b", "concatenation"), ("echo $x", "echo $;", "simple_expansion"),
    ("echo ${x}", "echo ${`}", "expansion"), ("echo $((1))", "echo $((x))", "arithmetic_expansion"),
    ("echo {1..3}", "echo {1; 3}", "brace_expression"), ("echo $(ls)", "echo `ls``", "command_substitution"),
    ("cat <(ls)", "cat >(ls)", "process_substitution"), ("echo ab", "echo a;", "word"),
    ("echo ${x:-y}", "echo ${x:`y}", "expansion"),
]  # fmt: skip


@requirement("shell:parse-errors")
@pytest.mark.parametrize(("source", "other", "kind"), LYING)
def test_a_tree_that_does_not_fit_its_text_is_not_believed(source: str, other: str, kind: str) -> None:
    node = find(source, kind) if kind != "word" else find(source, "command").children[1]
    with pytest.raises(Beyond):
        reader(other).read(node)


@requirement("shell:parse-errors")
@pytest.mark.parametrize(
    ("source", "other"),
    [
        ("ls a; ls b", "ls a; ls;b"),
        ("ls a\nls b", "ls a ls b;"),
        ("ls  a", "ls ;a"),
        ("(ls)  ", "(ls);;"),
        ("ls #a", "ls#a "),
        ("ls 2>&1", "ls 2>&;"),
        ("if ls; then ls; fi", "if ls; then;ls; fi"),
    ],
)
def test_what_stands_between_the_nodes_is_blank_or_refused(source: str, other: str) -> None:
    inquiry = Inquiry.open()
    try:
        Walk(other.encode(), inquiry).visit(parse(source.encode()))
    except Beyond as beyond:
        inquiry.note(beyond.finding)
    assert any(found.writes for found in inquiry.findings)


@requirement("shell:parse-errors")
@pytest.mark.parametrize("kind", ["program", "word", "case_item", "array", "subscript", "heredoc_body"])
def test_a_node_out_of_place_is_refused(kind: str) -> None:
    node = find("a=(b); case x in x) ls;; esac; cat <<E\n$x\nE\na[0]=1", kind)
    walk = Walk(b"x" * 200, Inquiry.open())
    if kind != "program":
        with pytest.raises(Beyond):
            walk.visit(node)
    if kind != "word":
        with pytest.raises(Beyond):
            walk.reader.pieces(node)


@pytest.mark.parametrize(
    ("source", "other"),
    [
        ("cat <<EOF\na\nEOF\n", "cat <<EOF\na\nEOX\n"), ("cat <<EOF\na\nb\nEOF\n", "cat <<EOF\nEOF\n\nEOF\n"),
        ("cat <<EOF\nab\nEOF\n", "cat <<E F\nab\nE F\n"),
    ],
)  # fmt: skip
def test_a_document_that_ends_elsewhere_is_refused(source: str, other: str) -> None:
    with pytest.raises(Beyond):
        check_heredoc(reader(other), find(source, "heredoc_redirect"), visit=ignore)


@pytest.mark.parametrize(
    "command",
    [
        "cat <<A <<B\na\nA\nb\nB\n",
        "cat <<EOF -n\na\nEOF\n",
        "cat <<E\\F\na\nEF\n",
        "cat <<EOF && rm f\na\nEOF\n",
        "cat <<EOF\nEOFX\nls\nEOF\n",
    ],
)
def test_unusual_documents_are_refused(command: str) -> None:
    assert not classify(command).reads


@pytest.mark.parametrize("other", ["cat <<EOF \nx\nEOF\n", "cat <<EOF\n$xyEOF\n"])
def test_a_document_that_begins_or_ends_in_the_middle_of_a_line_is_refused(other: str) -> None:
    with pytest.raises(Beyond):
        check_heredoc(reader(other), find("cat <<EOF\n$x\nEOF\n", "heredoc_redirect"), visit=ignore)


@requirement("shell:parse-errors")
def test_nodes_that_lack_their_parts_are_refused() -> None:
    walk = Walk(b"ls #a\n      ", Inquiry.open())
    refused = [
        lambda: check_heredoc(walk.reader, find("cat <<EOF\na\nEOF\n", "heredoc_start"), visit=ignore),
        lambda: walk.reader.read_bare(find("echo a'b'", "concatenation")),
        lambda: walk.reader.read_concatenation(find("echo ab", "word")),
        lambda: walk.visit_case_item(find("x[0]=1", "subscript")),
        lambda: walk.visit_case_item(find("[ a ]", "test_command")),
        lambda: walk.visit_comment(find("ls #ab", "comment")),
        lambda: reader("[[ a == b ]]").read_concatenation(find("[[ a == b ]]", "binary_expression")),
    ]
    for look in refused:
        with pytest.raises(Beyond):
            look()


def test_no_words_are_no_command() -> None:
    inquiry = Inquiry.open()
    inquiry.run([], start=0, end=0)
    assert inquiry.findings[0].rule == "expansion:command"


@pytest.mark.parametrize(
    "command",
    [
        "[ += ]", "cat <<EOF | \nEOF\n\na\nEOF\n", "x=#; ls", "echo ${x:-\\\n}", "ls <(};;)", ">-gt{1..3}\\local",
        "for i in a $# \\\n ;; do ls; done", "until ls;; do ls; done", "case a in &x) ls;; esac",
        "case a in }) ls;; esac", "export 2>&-#", "x=a; sort $x / \\ ;", "echo $(< f g)",
        "ls | (cat) > /dev/null -l", "git log -p*", "sort -k* f",
    ],
)  # fmt: skip
def test_odd_texts_that_a_machine_found_are_refused(command: str) -> None:
    assert not classify(command).reads


def test_an_option_made_by_braces_is_not_rewritten() -> None:
    verdict = classify("tail -{f,f} f")
    assert (verdict.reads, verdict.bounded, verdict.rewrite) == (True, False, None)


@requirement("shell:parse-errors")
def test_a_newline_ends_a_single_bracket_and_not_a_double_one() -> None:
    assert classify("[ -f a\n]").rule == "parse:gap"
    assert classify("[[ -f a\n]]").reads


def test_a_condition_with_other_brackets_is_refused() -> None:
    with pytest.raises(Beyond):
        check_condition(reader("(( 1 ))"), find("((1))", "compound_statement"))


@pytest.mark.parametrize(
    "command",
    [
        "[[ a == b* ]]", "[[ a =~ ^b ]]", "[[ ! -f a && ( -d b || -n c ) ]]", "[[ 1 -eq 2 ]]", "[[ $? -eq 0 ]]",
        "[ 1 -eq 2 ]", '[ "$x" = a ]', "[ -z a ]", "[[ a < b ]]", "[ $# -gt 0 ]", "[[ $x == a && $y != b ]]",
        "[ a = b -o c = d ]", "case $x in a|b*) ls;; *) cat f;; esac", "case a in (a) ls;; esac", "select_me=1; ls",
        "if ls; then ls; elif cat f; then ls; else ls; fi", "ls 2>/dev/null -l", "ls | cat 2>/dev/null -n",
        "< f cat", "cat 2>&1 < f", "ls 3>&-", "declare -a x", "local y; ls", "readonly z=1", "unset foo",
        "a=(b c); ls", "echo ${a[0]} ${a[@]}", "echo ${x:1:2} ${#x} ${x%.*} ${x//a/b} ${x^^} ${x:-b}",
        "echo $((1 + 2))", "echo {1..3}", "cat /dev/null foo$", "echo $HOME $PWD", "x=a && kubectl get pods -n $x",
        "x=a; y=b; git log $x $y", "# nothing", "", "   ", "ls # rm f", "cat <<EOF\n$x ${y} $(ls)\nEOF\n",
        "cat <<-EOF\n\ta\n\tEOF\n", "cat <<'EOF'\n`rm`\nEOF\n", "cat <<< a", "{ ls; } < f", "(ls) 2>&1 | cat",
        "ls |& cat", "cat <<EOF | sort\na\nEOF\n", "while read -r a; do echo; done <<< x", "for i; do ls; done",
        "f() { ls; }; f; f", "g() ( ls ); g", "echo \"a$(ls)b\" 'c'", "! ls", "until ls; do cat f; done",
        'echo "$x and more $"', "grep 'a$' f", "grep foo$ f", 'cat < "a$x"', 'cat < "/etc/$x/a"', "echo é",
        "export LANG=C", "true && false || echo",
    ],
)  # fmt: skip
def test_constructs_that_only_look_are_reading(command: str) -> None:
    assert classify(command).reads, (classify(command).rule, classify(command).findings)


@pytest.mark.parametrize(
    "command",
    [
        "[[ a == $(rm f) ]]", "[[ a =~ `x` ]]", "ls > f -l", "ls | cat > f -l", "(ls) > /dev/null -l", "> f ls x",
        "{ ls; } 2>/dev/null x", "if ls; then ls; fi 2>/dev/null x", "$(< $x)", "echo $(< /dev/tcp/h/1)",
        "x=a & kubectl get $x", "(x=a); kubectl get $x", "false && x=a; kubectl get $x", "x=a; x=-o; sort $x",
        "x=a; read x; sort $x", "x='-o f'; sort $x", "x=*; sort $x", "for x in a -o; do sort $x; done",
        "for x in $y; do sort $x; done", "for x in a; do ls; done; sort $x", "x=a | sort $x",
        "if x=a; then ls; fi; sort $x", "export A", "declare -x A=1", "declare -n a=b", "local -i a=1",
        "unset -f ls", "unset a[0]", "for LD_PRELOAD in a; do ls; done", "while ls; do rm f; done",
        "function g { rm f; }", "a-b() { ls; }", "g() { ls; } > f", "f() if true; then rm f; fi", "cat < *",
        "cat < //dev/tcp/h/1", "cat < /dev/../dev/tcp/h/1", "cat <& f", "ls >&$x", "ls 2>& f", "ls {a,b} > {c,d}",
        'echo $"a"', "echo $[1]", "echo ${x[1+1]}", "echo ${x@Q}", "echo ${!x*}", "echo ${x:a}", "echo ${x:=a}",
        "echo ${x?a}", "case $x in `rm f`) ls;; esac", "case a in $(rm f)) ls;; esac",
        'case a in "$(rm f)") ls;; esac', "sort !(a)", "ls @(a|b)", "echo \\`; rm f", "a=$(rm f) ls",
        "ls <<< $(rm f)", "a+=(b); rm f", "[ -f a ] > f", "[[ -f a ]] > f", "test a > f", "time -p rm f", "if",
        "then ls", "{ls,-l}", "sort {-o,f}", "sort -{o,u} f",
    ],
)  # fmt: skip
def test_constructs_that_could_do_more_are_refused(command: str) -> None:
    assert not classify(command).reads


def test_commands_in_commands_end_somewhere() -> None:
    command = "nice " * (DEEPEST + 2) + "ls"
    assert classify(command).rule == "guard:too-deep"


@pytest.mark.parametrize(("operator", "word"), [(">", None), ("<>", Word("f")), ("<&", Word("f")), ("<&", None)])
def test_redirections_that_make_no_sense_are_refused(operator: str, word: Word | None) -> None:
    with pytest.raises(Beyond):
        judge_redirect(operator, word)


def test_an_option_never_swallows_another() -> None:
    model = verb(values="-a --all", writes="-o", operands="text*")
    with pytest.raises(Refused):
        read_arguments("x", model, [Word("-a"), Word("-o"), Word("f")])
    assert read_arguments("x", model, [Word("-a"), Word("-1")]).options == {"-a": [Word("-1")]}
    assert read_arguments("x", model, [Word("-a")]).options == {"-a": [None]}


def test_words_behind_two_dashes_are_operands() -> None:
    model = verb(flags="-a", writes="-o", operands="text*")
    assert read_arguments("x", model, [Word("--"), Word("o"), Word("-")]).operands == [Word("o"), Word("-")]
    inert = verb(flags="-a", operands="text*", inert=True)
    assert read_arguments("x", inert, [Word("--"), Word("-o")]).operands == [Word("-o")]
    nested = verb(flags="-a", operands="text argv")
    assert len(read_arguments("x", nested, [Word("--"), Word("a"), Word("ls"), Word("-l")]).operands) == len("als")
    counted = verb(flags="-a", writes="-o", operands="text")
    with pytest.raises(Refused):
        read_arguments("x", counted, [Word("--"), Word(HOLE, splits=True)])


def test_behind_two_dashes_nothing_may_look_like_an_option_where_options_write() -> None:
    with pytest.raises(Refused):
        read_arguments("x", verb(flags="-a", writes="-o", operands="text*"), [Word("--"), Word("-o")])


def test_two_dashes_do_not_hide_a_verb() -> None:
    model = verb(verbs={"show": verb(operands="text*")}, default_verb="show")
    with pytest.raises(Refused):
        read_arguments("x", model, [Word("--"), Word("delete")])


def test_a_number_may_stand_in_front_of_letters() -> None:
    reading = read_arguments("x", verb(flags="-f", digits=True), [Word("-20f")])
    assert set(reading.options) == {"-NUM", "-f"}


def test_a_flag_with_one_dash_takes_no_value_but_true() -> None:
    model = verb(flags="-check", style="single")
    assert "-check" in read_arguments("x", model, [Word("-check=true")]).options
    with pytest.raises(Refused):
        read_arguments("x", model, [Word("-check=false")])


def test_an_option_that_takes_no_value_gets_none() -> None:
    with pytest.raises(Refused):
        read_arguments("x", verb(flags="--all"), [Word("--all=1")])


def test_operands_are_what_the_model_says() -> None:
    assert not judge("x", verb(operands="number"), [Word("1")]).finding.writes
    assert judge("x", verb(operands="number"), [Word("a")]).finding.rule == "operands:number"
    assert judge("x", verb(operands="plus"), [Word("a")]).finding.rule == "operands:plus"
    assert judge("x", verb(), [Word("a")]).finding.rule == "operands:many"
    assert judge("x", verb(operands="host"), [Word(f"a{HOLE}")]).finding.rule == "egress:unknown"
    assert judge("x", verb(operands="text"), [Word("a*", glob=True)]).finding.rule == "expansion:operand"
    assert judge("x", verb(flags="-f", follow="-f"), [Word("-f")]).finding.endless is Category.STREAM
    assert judge("x", verb(optional="--follow", follow="--follow"), [Word("--follow=false")]).finding.endless is None


def test_addresses_are_reduced_to_their_machine() -> None:
    assert [host_of(text) for text in ("https://u:p@Web:1/x", "u@h:/p", "h?x", "[::1]:80", "fe80::1", "h:80")] == [
        "web",
        "h",
        "h",
        "::1",
        "fe80::1",
        "h",
    ]
    assert is_metadata("169.254.169.254.")
    assert is_metadata("0xa9.0xfe.0xa9.0xfe")
    assert not is_metadata("999999999999")
    assert not is_metadata("example.com")
    assert not is_metadata("fe80::1%eth0")
