import { initChatModel } from "langchain";
import { profileOf } from "../../../src/entries/structure.js";

/** A model of each installed provider, by the name that `initChatModel` has for it. */
const models = {
  openai: "gpt-4o",
  anthropic: "claude-opus-4-8",
  google: "gemini-3-pro-preview",
  "google-genai": "gemini-3-pro-preview",
  mistralai: "mistral-large-latest",
  bedrock: "anthropic.claude-opus-4-8-v1:0",
  deepseek: "deepseek-chat",
};

/** The profile of the model that `initChatModel` makes, by provider. */
export async function universalReport(): Promise<Record<string, string>> {
  const credentials = { accessKeyId: "none", secretAccessKey: "none" };
  const entries = Object.entries(models).map(async ([modelProvider, name]) => {
    const model = await initChatModel(name, { modelProvider, apiKey: "none", region: "us-east-1", credentials });
    return [modelProvider, (await profileOf(model)).profile.name] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
