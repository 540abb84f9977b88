// What the service says in sentences without a code, in the reader's words and language.
//
// `said.test.ts` reads the service's source: a sentence that is
// changed or added there, and not here, fails it. Those in SAID are put otherwise in English, too.
import { type Key, language, t } from "./i18n";
import { SAID_ZH } from "./saidZh";

const SAID: readonly (readonly [RegExp, Key])[] = [
  // why a part of the search did not take part
  [/^words only, as asked$/, "said.wordsAsked"],
  [/^the model is being loaded$/, "said.loading"],
  [/^The default embedding model is not built yet\./, "said.notBuilt"],
  [/^(\d+) of (\d+) passages are embedded so far$/, "said.partly"],
  [/^the names of some notes are not embedded yet$/, "said.names"],
  [/^no answer within (\d+) ms$/, "said.late"],
  [/^failed \((.+)\)$/, "said.failed"],
  [/^no reranker is loaded$/, "said.noReranker"],
  [/^There is no model at (.+?)\.(?: .*)?$/, "said.noFolder"],
  [/^The model folder (.+?) has no (.+?)\.(?: .*)?$/, "said.incomplete"],
  // why there is no connection
  [/^The daemon speaks protocol (\d+), the client (\d+): .*$/, "said.protocols"],
  // where to look after something unexpected
  [/^Look for (\w+) in the log; .*$/, "said.errorId"],
  // why notes are read, or passages embedded, anew
  [/^a part of the index was damaged$/, "said.damaged"],
  [/^the form of the index changed$/, "said.schema"],
  [/^the way notes are cut into passages changed$/, "said.drafts"],
  [/^the way words are cut, or your own words, changed$/, "said.terms"],
  [/^the way things are recognised changed$/, "said.things"],
  [/^the embedding model changed$/, "said.model"],
  [/^a rebuild was asked for$/, "said.rebuild"],
  // what a changed setting asks for
  [/^the words of every note are read again$/, "said.wordsAgain"],
  [/^notes that were read without the graph are read again$/, "said.mentionsAgain"],
  [/^the vault is scanned again$/, "said.scanAgain"],
  [/^the models are loaded again; passages new to them are embedded$/, "said.modelsAgain"],
  // why a note is not found, or not by meaning
  [/^excluded$/, "said.excluded"],
  [/^its content lies in the cloud only$/, "said.cloud"],
  [/^larger than (.+) MB \(setting max_note_bytes\)$/, "said.large"],
  [/^cannot be read \((.+)\)$/, "said.unreadable"],
  [/^could not be indexed \((.+)\)$/, "said.notIndexed"],
  [/^a passage is found by its words only, as the model failed on it \((.+)\)$/, "said.unmodelled"],
  [/^The file's name is not valid Unicode\. /, "said.name"],
  [/^The link leads back into its own folder\. /, "said.loop"],
  [/^It is no file but a pipe, a socket or a device\. /, "said.noFile"],
  [/^It is a link to something that is not there\. /, "said.broken"],
  [/^It is a link, and links are not followed\. /, "said.link"],
];
const AND = " and ";

/** Sentences of the service in the language in use; as they came where they are not known. */
export function inReadersWords(said: string): string {
  const whole = translated(said);
  if (whole !== null) return whole;
  const parts = said.split(AND).map(translated);
  return parts.includes(null) ? said : parts.join(t("said.and"));
}

// What is put in other words says what to do, too: what follows its first sentence is left out.
function translated(said: string): string | null {
  const ends = [...said.matchAll(/[.)] /g)].map(({ index }) => index + 1);
  for (const end of [...ends, said.length]) {
    const told = sentence(said.slice(0, end));
    if (told !== null) return told;
  }
  return null;
}

function sentence(said: string): string | null {
  for (const [pattern, key] of SAID) {
    const [, first = "", second = ""] = pattern.exec(said) ?? [];
    if (pattern.test(said)) return t(key, { first, second });
  }
  if (language() !== "zh") return null;
  for (const [pattern, chinese] of patterns()) {
    const found = pattern.exec(said);
    if (found !== null)
      return chinese.replace(/\{(\d)\}/g, (_, n: string) => found[Number(n)] ?? "");
  }
  return null;
}

let compiled: [RegExp, string][] | null = null;

function patterns(): [RegExp, string][] {
  compiled ??= Object.entries(SAID_ZH).map(([english, chinese]) => {
    const escaped = english.replace(/[\\^$.*+?()[\]|/]/g, "\\$&");
    return [new RegExp(`^${escaped.replaceAll("{}", "(.*?)")}$`, "s"), chinese];
  });
  return compiled;
}
