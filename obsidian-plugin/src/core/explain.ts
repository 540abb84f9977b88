// "Why this result?" in words, from what the answer itself says.
import type { Result } from "../bridge/protocol";
import { folderOf, titleOf } from "./grouping";
import { lookUp, t } from "./i18n";
import { lineRange } from "./links";
import { channelName } from "./status";

export interface ChannelLine {
  channel: "metadata" | "bm25" | "vector" | "graph";
  rank: number;
  label: string;
}

/** Which channels found the passage and at which rank, shortest first. */
export function channelsOf(result: Pick<Result, "channels">): ChannelLine[] {
  const lines: ChannelLine[] = [];
  for (const channel of ["metadata", "bm25", "vector", "graph"] as const) {
    const hit = result.channels[channel];
    if (hit !== null && hit !== undefined)
      lines.push({
        channel,
        rank: hit.rank,
        label: t("channel.rank", { channel: channelName(channel), rank: hit.rank }),
      });
  }
  return lines;
}

/** What a metadata hit matched, in words: "title", "alias: 终值定理". */
export function matchedNames(result: Pick<Result, "channels">): string[] {
  return (result.channels.metadata?.matched ?? []).map((matched) => {
    const [kind = "", ...rest] = matched.split(": ");
    const name = lookUp(`matched.${kind}`) ?? kind;
    return rest.length > 0 ? `${name}: ${rest.join(": ")}` : name;
  });
}

/** What the notes mention together on the way to the passage: "知识图谱 → PMI"; "" for none. */
export function chainOf(result: Pick<Result, "channels">): string {
  return (result.channels.graph?.chain ?? []).join(" → ");
}

/** The sentences of the explanation, the most telling first. */
export function explain(result: Result): string[] {
  const sentences: string[] = [];
  const { channels, graph_provenance: link } = result;
  if (link !== null)
    sentences.push(
      t("why.linked", {
        link: link.link,
        note: titleOf(link.seed_path),
        rank: link.seed_rank,
      }),
    );
  const matched = matchedNames(result);
  if (channels.metadata && matched.length > 0)
    sentences.push(
      t("why.metadata", { rank: channels.metadata.rank, matched: matched.join(t("list.comma")) }),
    );
  if (channels.bm25) sentences.push(t("why.bm25", { rank: channels.bm25.rank }));
  if (channels.vector) sentences.push(t("why.vector", { rank: channels.vector.rank }));
  if (channels.graph)
    sentences.push(t("why.graph", { rank: channels.graph.rank, chain: chainOf(result) }));
  if (result.rerank_score !== null) sentences.push(t("why.rerank"));
  if (result.origin === "direct") sentences.push(t("why.evidence", { percent: percentOf(result) }));
  sentences.push(citationInWords(result));
  if (result.also_in.length > 0)
    sentences.push(t("why.alsoIn", { sources: result.also_in.join(t("list.comma")) }));
  return sentences;
}

/** What the badge says on hover. */
export function citationInWords(result: Pick<Result, "citation" | "path">): string {
  const { citation } = result;
  const lines = lineRange(citation) || t("lines.none");
  const place = folderOf(result.path) === "" ? titleOf(result.path) : result.path;
  if (citation.status === "fresh") return t("badge.fresh.tip", { lines, note: place });
  if (citation.status === "unresolvable") return t("badge.gone.tip");
  return citation.match === "similar"
    ? t("badge.similar.tip", { lines, note: place })
    : t("badge.changed.tip", { lines, note: place });
}

export function percentOf(result: Pick<Result, "evidence">): number {
  return Math.round(Math.min(Math.max(result.evidence, 0), 1) * 100);
}
