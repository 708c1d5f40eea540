export { sessionStoreContract, type ContractCase, type StoreSetup } from "./session-store-contract.js";
