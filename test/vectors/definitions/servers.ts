// The servers of which collect.ts asks the definitions: the official ones, those that the packs are written for, and
// others that are much used. Their settings are invented; none of them is asked to do anything.

export interface Server {
  name: string;
  from: 'npm' | 'pypi';
  /** The newest if absent. */
  version?: string;
  /** The program of the package; its first one if absent. */
  bin?: string;
  args?: string[];
  env?: Record<string, string>;
  /** For packages that only point to the licence file of their repository. */
  licence?: string;
}

const SECRET = 'invented-0123456789abcdef0123456789abcdef';
/** New parts of the official servers are under Apache 2.0, and older ones under MIT, as their repository says. */
const official = { licence: 'MIT AND Apache-2.0' };
const POSTGRES = 'postgresql://localhost/none';

const npm = (name: string, more: Omit<Server, 'name' | 'from'> = {}): Server => ({
  name,
  from: 'npm',
  ...more,
});
const pypi = (name: string, more: Omit<Server, 'name' | 'from'> = {}): Server => ({
  name,
  from: 'pypi',
  ...more,
});

export const SERVERS: readonly Server[] = [
  npm('@modelcontextprotocol/server-filesystem', { ...official, args: ['.'] }),
  npm('@modelcontextprotocol/server-everything', official),
  npm('@modelcontextprotocol/server-memory', official),
  npm('@modelcontextprotocol/server-sequential-thinking', official),
  npm('@modelcontextprotocol/server-github'),
  npm('@modelcontextprotocol/server-gitlab', { env: { GITLAB_PERSONAL_ACCESS_TOKEN: SECRET } }),
  npm('@modelcontextprotocol/server-slack', { env: { SLACK_BOT_TOKEN: SECRET, SLACK_TEAM_ID: 'T0' } }),
  npm('@modelcontextprotocol/server-postgres', { args: [POSTGRES] }),
  npm('@modelcontextprotocol/server-puppeteer'),
  npm('@modelcontextprotocol/server-brave-search', { env: { BRAVE_API_KEY: SECRET } }),
  npm('@modelcontextprotocol/server-google-maps', { env: { GOOGLE_MAPS_API_KEY: SECRET } }),
  npm('@modelcontextprotocol/server-gdrive'),
  npm('@modelcontextprotocol/server-redis'),
  npm('@modelcontextprotocol/server-everart', { env: { EVERART_API_KEY: SECRET } }),
  pypi('mcp-server-fetch'),
  pypi('mcp-server-git'),
  pypi('mcp-server-sqlite', { args: ['--db-path', 'a.db'] }),
  pypi('mcp-server-time'),
  npm('@playwright/mcp', {
    args: ['--caps=core,tabs,pdf,vision,testing,tracing,storage,network,devtools,config'],
  }),
  npm('chrome-devtools-mcp'),
  npm('@stripe/mcp', { version: '0.2.5', args: ['--tools=all', '--api-key=sk_test_invented'] }),
  npm('@henkey/postgres-mcp-server', { args: ['--connection-string', POSTGRES] }),
  npm('@gongrzhe/server-gmail-autoauth-mcp'),
  npm('@codefuturist/email-mcp'),
  pypi('postgres-mcp', { args: [POSTGRES] }),
  npm('@zereight/mcp-gitlab', { env: { GITLAB_PERSONAL_ACCESS_TOKEN: SECRET } }),
  npm('@notionhq/notion-mcp-server', { env: { NOTION_TOKEN: SECRET } }),
  npm('@supabase/mcp-server-supabase', { args: ['--access-token', SECRET] }),
  npm('@sentry/mcp-server', { args: ['--access-token', SECRET] }),
  npm('@upstash/context7-mcp'),
  npm('@heroku/mcp-server', { env: { HEROKU_API_KEY: SECRET } }),
  npm('tavily-mcp', { env: { TAVILY_API_KEY: SECRET } }),
  npm('exa-mcp-server', { env: { EXA_API_KEY: SECRET } }),
  npm('firecrawl-mcp', { env: { FIRECRAWL_API_KEY: SECRET } }),
  npm('mongodb-mcp-server'),
  npm('@elastic/mcp-server-elasticsearch', { env: { ES_URL: 'http://localhost:9', ES_API_KEY: SECRET } }),
  npm('mcp-server-kubernetes'),
  npm('n8n-mcp', { env: { MCP_MODE: 'stdio', DISABLE_CONSOLE_OUTPUT: 'true', LOG_LEVEL: 'error' } }),
  npm('@browsermcp/mcp'),
  npm('@executeautomation/playwright-mcp-server'),
  npm('@circleci/mcp-server-circleci', { env: { CIRCLECI_TOKEN: SECRET } }),
  npm('@wonderwhy-er/desktop-commander'),
  npm('figma-developer-mcp', { args: ['--stdio', '--figma-api-key', SECRET] }),
  npm('airtable-mcp-server', { env: { AIRTABLE_API_KEY: SECRET } }),
  npm('@mapbox/mcp-server', { env: { MAPBOX_ACCESS_TOKEN: 'pk.eyJ1IjoiYSJ9.aaaaaaaaaaaaaaaaaaaaaa' } }),
  npm('@railway/mcp-server'),
  npm('@cocal/google-calendar-mcp'),
  npm('@shopify/dev-mcp'),
  npm('@neondatabase/mcp-server-neon', { args: ['start', SECRET] }),
  npm('@brightdata/mcp', { env: { API_TOKEN: SECRET } }),
  npm('@tacticlaunch/mcp-linear', { env: { LINEAR_API_TOKEN: SECRET } }),
  npm('@benborla29/mcp-server-mysql'),
  npm('@kazuph/mcp-taskmanager'),
  npm('obsidian-mcp-server', { env: { OBSIDIAN_API_KEY: SECRET } }),
  pypi('mcp-atlassian', {
    env: {
      JIRA_URL: 'https://jira.invalid',
      JIRA_PERSONAL_TOKEN: SECRET,
      CONFLUENCE_URL: 'https://wiki.invalid',
      CONFLUENCE_PERSONAL_TOKEN: SECRET,
    },
  }),
  pypi('awslabs.aws-documentation-mcp-server'),
  pypi('duckduckgo-mcp-server'),
  pypi('arxiv-mcp-server'),
  pypi('mcp-email-server', { args: ['stdio'] }),
  pypi('office-word-mcp-server', { bin: 'word_mcp_server' }),
  pypi('excel-mcp-server', { args: ['stdio'] }),
  pypi('redis-mcp-server'),
];
