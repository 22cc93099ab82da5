resource "azurerm_log_analytics_workspace" "this" {
  name                = var.name
  location            = azurerm_resource_group.this.location
  resource_group_name = azurerm_resource_group.this.name
  sku                 = "PerGB2018"
  retention_in_days   = 30
}

resource "azurerm_container_app_environment" "this" {
  name                       = var.name
  location                   = azurerm_resource_group.this.location
  resource_group_name        = azurerm_resource_group.this.name
  log_analytics_workspace_id = azurerm_log_analytics_workspace.this.id
  infrastructure_subnet_id   = azurerm_subnet.containers.id
  zone_redundancy_enabled    = true

  workload_profile {
    name                  = "Consumption"
    workload_profile_type = "Consumption"
  }
}

locals {
  metrics = ["--metrics", "0.0.0.0:9464"]

  # Two of each, so that one goes on when the other ends; of two Supervisors one leads.
  actors = {
    scheduler  = { arguments = concat(["scheduler", var.app], local.metrics), least = 2, most = 2 }
    submission = { arguments = concat(["submission", var.app], local.metrics), least = 2, most = 2 }
    supervisor = { arguments = concat(["supervisor"], local.metrics), least = 2, most = 2 }
  }
  agents = {
    for name, scale in var.agents : "agent-${name}" => {
      arguments = concat(["agent", var.app, "--only", name], local.metrics)
      least     = scale.least
      most      = scale.most
    }
  }
  variables = {
    STEPWARD_TRANSPORT = var.transport
    STEPWARD_DRAIN     = "${var.drain_seconds}s"
    AZURE_CLIENT_ID    = azurerm_user_assigned_identity.processes.client_id
  }
}

resource "azurerm_container_app" "actors" {
  for_each = merge(local.actors, local.agents)

  name                         = each.key
  container_app_environment_id = azurerm_container_app_environment.this.id
  resource_group_name          = azurerm_resource_group.this.name
  revision_mode                = "Single"
  workload_profile_name        = "Consumption"

  identity {
    type         = "UserAssigned"
    identity_ids = [azurerm_user_assigned_identity.processes.id]
  }

  secret {
    name  = "store"
    value = local.store
  }

  template {
    min_replicas = each.value.least
    max_replicas = each.value.most
    # Drain and lease, 15 s at least, and what code that still runs may take.
    termination_grace_period_seconds = max(15, var.drain_seconds + 10) + 15

    container {
      name   = "stepward"
      image  = var.image
      args   = each.value.arguments
      cpu    = 0.5
      memory = "1Gi"

      env {
        name        = "STEPWARD_STORE"
        secret_name = "store"
      }

      dynamic "env" {
        for_each = local.variables

        content {
          name  = env.key
          value = env.value
        }
      }

      startup_probe {
        transport               = "HTTP"
        port                    = 9464
        path                    = "/livez"
        interval_seconds        = 6
        failure_count_threshold = 30
      }

      liveness_probe {
        transport               = "HTTP"
        port                    = 9464
        path                    = "/livez"
        interval_seconds        = 10
        timeout                 = 5
        failure_count_threshold = 6
      }

      readiness_probe {
        transport               = "HTTP"
        port                    = 9464
        path                    = "/readyz"
        interval_seconds        = 5
        timeout                 = 3
        failure_count_threshold = 2
      }
    }
  }

  depends_on = [azurerm_role_assignment.queues]
}

# Begun by hand before the first start and before each new version of Stepward.
resource "azurerm_container_app_job" "migrate" {
  name                         = "migrate"
  location                     = azurerm_resource_group.this.location
  resource_group_name          = azurerm_resource_group.this.name
  container_app_environment_id = azurerm_container_app_environment.this.id
  workload_profile_name        = "Consumption"
  replica_timeout_in_seconds   = 3600
  replica_retry_limit          = 2

  manual_trigger_config {
    parallelism              = 1
    replica_completion_count = 1
  }

  secret {
    name  = "store"
    value = local.store
  }

  template {
    container {
      name   = "stepward"
      image  = var.image
      args   = ["migrate", var.app]
      cpu    = 0.5
      memory = "1Gi"

      env {
        name        = "STEPWARD_STORE"
        secret_name = "store"
      }
    }
  }
}
