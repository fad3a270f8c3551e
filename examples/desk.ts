// The tools of the examples, as plain functions, and what their scripted agent does with them. Nothing here knows
// Toolgate, and no model is called: put your own where an example has its script.

export interface Issue {
  number: number;
}
export interface Repository {
  name: string;
}
export interface NewIssue {
  title: string;
}

export const desk = {
  get_issue: async ({ number }: Issue) => `Issue ${number}: the build is broken.`,
  delete_repo: async ({ name }: Repository) => `Deleted ${name}.`,
  create_issue: async ({ title }: NewIssue) => `Created "${title}".`,
};

export type ToolName = keyof typeof desk;

/** One call per turn, as a model would make them. */
export const SCRIPT: { name: ToolName; args: Record<string, unknown> }[] = [
  { name: 'get_issue', args: { number: 1 } },
  { name: 'delete_repo', args: { name: 'archive' } },
  { name: 'create_issue', args: { title: 'Mend the build' } },
];

export const DONE = 'That is all.';
