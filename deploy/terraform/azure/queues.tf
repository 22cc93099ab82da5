# Where the pattern's example has its queues. Processes come in by their identity: there is no key to keep.
resource "azurerm_servicebus_namespace" "this" {
  count               = var.service_bus ? 1 : 0
  name                = "${var.name}-queues"
  resource_group_name = azurerm_resource_group.this.name
  location            = azurerm_resource_group.this.location
  sku                 = "Standard"
  local_auth_enabled  = false
  minimum_tls_version = "1.2"
}

resource "azurerm_user_assigned_identity" "processes" {
  name                = "${var.name}-processes"
  resource_group_name = azurerm_resource_group.this.name
  location            = azurerm_resource_group.this.location
}

resource "azurerm_role_assignment" "queues" {
  count                = var.service_bus ? 1 : 0
  scope                = azurerm_servicebus_namespace.this[0].id
  role_definition_name = "Azure Service Bus Data Owner"
  principal_id         = azurerm_user_assigned_identity.processes.principal_id
}
