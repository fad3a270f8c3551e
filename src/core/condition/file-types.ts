// The files to which a search may be narrowed: sources and texts. A narrowed search looks into hidden files, and by a pattern
// of names into those that git ignores as well: ripgrep counts `.env` among the files of the type `sh`, and `*.local` is
// `.env.local`, too. So this names the kinds in which no secret of path-lists.ts is kept.

const EXTENSIONS = `ts tsx mts cts js jsx mjs cjs vue svelte astro py pyi rb erb rake go rs java kt kts scala groovy c h cc cpp cxx hh hpp
  hxx m mm cs fs vb swift dart php lua pl pm r jl ex exs erl hs ml mli clj cljs elm zig nim sol sql graphql gql proto css scss sass
  less html htm md mdx rst adoc tex`;
/** As ripgrep names them. */
const TYPES = `ts typescript js py python ruby go rust java kotlin scala groovy c cpp csharp cs swift dart php lua perl r julia elixir
  erlang haskell ocaml clojure elm zig sql graphql protobuf css less sass html md markdown rst asciidoc tex vue svelte`;

const oneOf = (words: string): string => `(?:${words.trim().split(/\s+/).join('|')})`;

export const EXTENSION = oneOf(EXTENSIONS);
export const TYPE = oneOf(TYPES);
