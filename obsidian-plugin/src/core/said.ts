// What the service says in sentences without a code, in the reader's words and language.
//
// `said.test.ts` reads the service's source: a sentence that is
// changed or added there, and not here, fails it.
import { type Key, t } from "./i18n";

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

/** A sentence of the service in the language in use; as it came where it is not known. */
export function inReadersWords(sentence: string): string {
  const whole = translated(sentence);
  if (whole !== null) return whole;
  const parts = sentence.split(AND).map(translated);
  return parts.includes(null) ? sentence : parts.join(t("said.and"));
}

function translated(sentence: string): string | null {
  for (const [pattern, key] of SAID) {
    const [, first = "", second = ""] = pattern.exec(sentence) ?? [];
    if (pattern.test(sentence)) return t(key, { first, second });
  }
  return null;
}
