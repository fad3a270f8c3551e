// The Python frameworks for which the client has adapters, where somebody has installed them: TOOLGATE_TEST_FRAMEWORKS
// names the interpreter of an environment with some of them (.ci/frameworks makes one). What is missing is left out with
// a loud line, also in CI: whether an index of Python packages can be reached is nothing that a change here can break.

/** By the name of the adapter: the module to look for. */
const MODULES = {
  openai_agents: 'agents',
  langchain: 'langgraph',
  pydantic_ai: 'pydantic_ai',
  google_adk: 'google.adk',
  crewai: 'crewai',
};
export type Framework = keyof typeof MODULES;

export const frameworksPython = process.env['TOOLGATE_TEST_FRAMEWORKS'] ?? '';

/** For processes that import a framework: what is compiled once serves all of them. */
export const frameworksEnv = {
  PYTHONPYCACHEPREFIX: `${frameworksPython}-cache`,
  PYTHONDONTWRITEBYTECODE: '',
};

const FIND = `
import importlib.util, sys
for name in sys.argv[1:]:
    try:
        print(importlib.util.find_spec(name) is not None)
    except ModuleNotFoundError:
        print(False)
`;

/** Those that are installed. */
export function pythonFrameworks(): Framework[] {
  const all = Object.entries(MODULES) as [Framework, string][];
  const found = frameworksPython === '' ? [] : look(all.map(([, module]) => module));
  const missing = all.filter((_, at) => !found[at]).map(([name]) => name);
  if (missing.length > 0)
    console.warn(
      `\n*** SKIPPED: the Python adapters with the real ${missing.join(', ')} (TOOLGATE_TEST_FRAMEWORKS) ***\n`,
    );
  return all.filter((_, at) => found[at]).map(([name]) => name);
}

function look(modules: string[]): boolean[] {
  const { stdout, stderr, success } = Bun.spawnSync([frameworksPython, '-c', FIND, ...modules]);
  if (!success) throw new Error(`TOOLGATE_TEST_FRAMEWORKS names no Python: ${stderr}`);
  return stdout
    .toString()
    .trim()
    .split('\n')
    .map(each => each === 'True');
}
