# The state store: a primary, and a standby in another zone that has every commit. Only the network above reaches it.
resource "azurerm_postgresql_flexible_server" "this" {
  name                          = var.name
  resource_group_name           = azurerm_resource_group.this.name
  location                      = azurerm_resource_group.this.location
  version                       = "17"
  sku_name                      = "GP_Standard_D2ds_v5"
  storage_mb                    = 131072
  backup_retention_days         = 14
  delegated_subnet_id           = azurerm_subnet.database.id
  private_dns_zone_id           = azurerm_private_dns_zone.database.id
  public_network_access_enabled = false
  administrator_login           = "stepward"
  administrator_password        = var.database_password
  zone                          = "1"

  high_availability {
    mode                      = "ZoneRedundant"
    standby_availability_zone = "2"
  }

  depends_on = [azurerm_private_dns_zone_virtual_network_link.database]
}

resource "azurerm_postgresql_flexible_server_database" "this" {
  name      = "shop"
  server_id = azurerm_postgresql_flexible_server.this.id
  charset   = "UTF8"
  collation = "en_US.utf8"

  lifecycle {
    prevent_destroy = true
  }
}

locals {
  login = "stepward:${urlencode(var.database_password)}"
  store = "postgresql://${local.login}@${azurerm_postgresql_flexible_server.this.fqdn}/shop?sslmode=verify-full"
}
