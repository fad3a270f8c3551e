// How the programs of others are set up, for the page of results: which way of asking, which settings, and why.

import { titleOf } from './programs.ts';

export const FIELD_SETUP = `- The programs of \`npm run bench:field\` are asked the same question with the same arguments: whether a tool may be called
  under the ten rules of the plain policy, written in their own language. Before and after the load each has to allow that
  tool and to deny two others. All are bound to the same core as Toolgate, and all their threads and children are counted.
  Whether and when they sync their records was seen with \`strace\`.
- ${titleOf('opa')} runs as \`opa run --server --log-level error --set decision_logs.console=true\`. It writes the decision before it
  answers and does not sync it. A line without the log says what the log costs.
- ${titleOf('cerbos')} runs with its decision log in a file, without access log, and with the tool as the action, which it looks up in
  a table. It writes the decision beside the answer and does not sync it. It is asked by HTTP like the others, which it
  translates to gRPC inside; whoever asks by gRPC saves that.
- ${titleOf('faramesh')} runs as \`faramesh serve --log-level error\` and is asked over its Unix socket, which is its cheapest way. It
  syncs each decision to its write-ahead log before it answers, and writes it to SQLite databases as well. It allows an agent 20
  calls a second, so 200 agents take turns; it denies what takes longer than 50 ms, so it has 8 connections instead of 64; and
  it reads its whole log for each decision once that has more than 16 MB, so it is started anew before each measurement.
- ${titleOf('contextforge')} runs on SQLite with one worker, as an administrator with a token, and with plugins, rate limits, compression,
  dashboard and the log of token uses switched off. Sessions are kept, which halves its CPU time. It has 8 connections, because
  with 64 some calls take longer than a measurement.`;
